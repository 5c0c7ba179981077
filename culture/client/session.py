"""The protocol state of one client connection: lines in, events and lines out. It does no I/O."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from itertools import count

from culture.client.batches import Batch, Batches
from culture.client.composing import Composed, compose_lines, compose_messages, parse_limits
from culture.client.events import (
    Answered,
    Echoed,
    Event,
    Failed,
    HaltChanged,
    Joined,
    Left,
    Refused,
    Registered,
    Renamed,
    Replayed,
    Said,
    Told,
)
from culture.client.registration import Identity, Phase, Registration
from culture.client.roster import Roster
from culture.client.splitting import room_for_text
from culture.client.standing import Standing
from culture.errors import TemporaryError
from culture.names import RELAY_SEPARATORS, fold
from culture.protocol import mentions, numerics
from culture.protocol.capabilities import Cap
from culture.protocol.line import NO_TAGS, Line, format_line


class Kind(Enum):
    """The command that sends a message. Programs never reply to a NOTICE (RFC 2812 section 3.3.2)."""

    MESSAGE = "PRIVMSG"
    NOTICE = "NOTICE"


class Session:
    """Parses the lines of one connection and composes the client's own."""

    def __init__(self, identity: Identity, channels: Sequence[str]) -> None:
        self.nick = identity.nick
        self.roster = Roster()
        self._registration = Registration(identity)
        self._is_bot = identity.is_bot
        self._batches = Batches()
        self._references = (f"m{number}" for number in count(1))
        self._wanted = channels
        self._source = ""
        # What RFC 2811 has, until the server says otherwise in its ISUPPORT.
        self._channel_types = "#&"
        self._standing = Standing()
        self._status_targets = ""
        self._output = self._registration.begin()

    @property
    def is_registered(self) -> bool:
        """Return whether the server has welcomed the client."""
        return self._registration.phase is Phase.REGISTERED

    def take_output(self) -> list[str]:
        """Return the lines to send now, without line ends, and forget them."""
        taken, self._output = self._output, []
        return taken

    @property
    def capabilities(self) -> frozenset[str]:
        """Return the enabled capabilities."""
        return self._registration.capabilities

    @property
    def relay_separator(self) -> str:
        """Return the character that every relayed nick has (IRCv3 draft/relaymsg)."""
        return self._registration.offered.get(Cap.RELAYMSG, "")[:1] or RELAY_SEPARATORS[0]

    def compose(
        self, target: str, text: str, kind: Kind = Kind.MESSAGE, tags: Mapping[str, str] = NO_TAGS
    ) -> Composed:
        """Return the lines that send a text, as one multiline message if the server supports it.

        The tags are left out if the server does not support message-tags.
        """
        room = room_for_text(self.nick, self._source, kind.value, target)
        tags = tags if Cap.MESSAGE_TAGS in self.capabilities else NO_TAGS
        if not self.capabilities >= {Cap.BATCH, Cap.MULTILINE}:
            return compose_lines(kind.value, target, text, room, tags)
        limits = parse_limits(self._registration.offered[Cap.MULTILINE])
        return compose_messages(kind.value, target, text, room, tags, limits, self._references)

    def send(self, *lines: str) -> None:
        """Queue lines to send."""
        self._output += lines

    def ping(self, token: str) -> None:
        """Queue a PING."""
        self.send(format_line("PING", token))

    def quit(self, reason: str) -> None:
        """Queue a QUIT."""
        self._output.append(format_line("QUIT", reason, trailing=True))

    def received(self, line: Line) -> list[Event]:
        """Return the events of a line. Raise CultureError if the line ends the connection."""
        if not self.is_registered:
            self._output += self._registration.received(line)
        match self._batches.received(line):
            case None:
                return []
            case Batch() as batch:
                said = (self._heard(each) for each in batch.lines if each.command in _SPEECH)
                return [Replayed(batch.target, tuple(said))]
            case whole:
                return self._received(whole)

    def _received(self, line: Line) -> list[Event]:
        handler = _HANDLERS.get(line.command)
        if handler is not None:
            return handler(self, line)
        if not self.is_registered:
            return []
        if line.command[0] in "45" and line.command.isdecimal():
            return [Refused(line.command, line.param(1), line.params[-1])]
        return [Told(line)]

    def is_own(self, nick: str) -> bool:
        """Return whether a nick is the client's own."""
        return fold(nick) == fold(self.nick)

    def channel_of(self, target: str) -> str | None:
        """Return the channel of a target, also of one for operators only (`@#ops`); None for a nick."""
        name = target.lstrip(self._status_targets) if self._status_targets else target
        return name if name[:1] and name[0] in self._channel_types else None

    def _welcome(self, line: Line) -> list[Event]:
        # The server has the last word on our nick: it may have cut it.
        self.nick = line.param(0) or self.nick
        # One line each: a list may be longer than a line, or than what the server takes at once.
        self._output += (format_line("JOIN", channel) for channel in self._wanted)
        return [Registered(self.nick, line.source)]

    def _isupport(self, line: Line) -> list[Event]:
        for word in line.params[1:]:
            name, _, value = word.partition("=")
            match name:
                case "CHANTYPES":
                    self._channel_types = value
                case "PREFIX":
                    self._standing.set_prefix(value)
                case "CHANMODES":
                    self._standing.set_modes(value)
                case "STATUSMSG":
                    self._status_targets = value
                case "BOT" if self._is_bot and value:
                    # Others are to know that no person speaks (IRCv3 bot-mode).
                    self.send(format_line("MODE", self.nick, f"+{value}"))
        return []

    def _ping(self, line: Line) -> list[Event]:
        self._output.append(format_line("PONG", *line.params))
        return []

    def _pong(self, line: Line) -> list[Event]:
        return [Answered(line.params[-1] if line.params else "")]

    def _error(self, line: Line) -> list[Event]:
        raise TemporaryError(f"the server closed the connection: {line.param(0)}")

    def _fail(self, line: Line) -> list[Event]:
        return [Failed(line.param(0), line.param(1), line.params[-1] if line.params else "")]

    def _halt(self, line: Line) -> list[Event]:
        return [HaltChanged(True, line.param(1), line.param(3))]

    def _unhalt(self, line: Line) -> list[Event]:
        return [HaltChanged(False)]

    def _said(self, line: Line) -> list[Event]:
        # Before registration a server talks to whoever connected, not to us.
        if not self.is_registered:
            return []
        if self.is_own(line.nick) and Cap.ECHO_MESSAGE in self.capabilities:
            msgid, time = line.tags.get("msgid", ""), line.tags.get("time")
            is_notice = line.command == Kind.NOTICE.value
            return [Echoed(line.param(0), line.param(1), msgid, is_notice, time)]
        return [self._heard(line)]

    def _heard(self, line: Line) -> Said:
        called = line.tags.get(mentions.TAG)
        return Said(
            sender=line.nick,
            channel=self.channel_of(line.param(0)),
            text=line.param(1),
            is_notice=line.command == Kind.NOTICE.value,
            is_from_server="!" not in line.source,
            mentions=None if called is None else tuple(called.split(",")),
            time=line.tags.get("time"),
            tags=line.tags,
        )

    def _join(self, line: Line) -> list[Event]:
        channel = line.param(0)
        if self.is_own(line.nick):
            self._source = line.source
            self.roster.enter(channel)
        self.roster.add(channel, [line.nick])
        return [Joined(line.nick, channel, line.tags.get("time"))]

    def _part(self, line: Line) -> list[Event]:
        return self._left([line.param(0)], line.nick, line.param(1))

    def _kick(self, line: Line) -> list[Event]:
        return self._left([line.param(0)], line.param(1), line.param(2))

    def _quit(self, line: Line) -> list[Event]:
        return self._left(self.roster.shared_with(line.nick), line.nick, line.param(0))

    def _left(self, channels: Iterable[str], nick: str, reason: str) -> list[Event]:
        left: list[Event] = []
        for channel in channels:
            if self.is_own(nick):
                self.roster.leave(channel)
            else:
                self.roster.remove(channel, nick)
            left.append(Left(nick, channel, reason))
        return left

    def _nick(self, line: Line) -> list[Event]:
        new = line.param(0)
        if self.is_own(line.nick):
            self.nick = new
            self._source = new + self._source[len(line.nick) :] if self._source else ""
        self.roster.rename(line.nick, new)
        return [Renamed(line.nick, new)]

    def _names(self, line: Line) -> list[Event]:
        channel = line.param(2)
        for nick, is_operator in map(self._standing.split, line.params[-1].split()):
            self.roster.add(channel, [nick])
            self.roster.set_operator(channel, nick, is_operator=is_operator)
        return []

    def _mode(self, line: Line) -> list[Event]:
        for nick, is_operator in self._standing.changes(line.params[1:]):
            self.roster.set_operator(line.param(0), nick, is_operator=is_operator)
        return []


_SPEECH = frozenset(kind.value for kind in Kind)

_HANDLERS: dict[str, Callable[[Session, Line], list[Event]]] = {
    numerics.RPL_WELCOME: Session._welcome,
    numerics.RPL_ISUPPORT: Session._isupport,
    numerics.RPL_NAMREPLY: Session._names,
    "ERROR": Session._error,
    "FAIL": Session._fail,
    "HALT": Session._halt,
    "JOIN": Session._join,
    "KICK": Session._kick,
    "MODE": Session._mode,
    "NICK": Session._nick,
    "NOTICE": Session._said,
    "PART": Session._part,
    "PING": Session._ping,
    "PONG": Session._pong,
    "PRIVMSG": Session._said,
    "QUIT": Session._quit,
    "UNHALT": Session._unhalt,
}
