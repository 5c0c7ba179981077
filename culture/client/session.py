"""One connection's conversation with a server: lines in, events and answers out. No I/O."""

from collections.abc import Callable, Iterable, Sequence
from enum import Enum

from culture.client.events import Answered, Event, Joined, Left, Refused, Registered, Renamed, Said
from culture.client.registration import Identity, Phase, Registration
from culture.client.roster import Roster
from culture.client.splitting import room_for_text, split_text
from culture.errors import TemporaryError
from culture.names import fold
from culture.protocol import mentions, numerics
from culture.protocol.line import Line, format_line


class Kind(Enum):
    """How something is said. A NOTICE is never answered by a program (RFC 2812 section 3.3.2)."""

    MESSAGE = "PRIVMSG"
    NOTICE = "NOTICE"


class Session:
    def __init__(self, identity: Identity, channels: Sequence[str]) -> None:
        self.nick = identity.nick
        self.roster = Roster()
        self._registration = Registration(identity)
        self._wanted = channels
        self._source = ""
        # What RFC 2811 has, until the server says otherwise in its ISUPPORT.
        self._channel_types = "#&"
        self._status_prefixes = "~&@%+"
        self._status_targets = ""
        self._output = self._registration.begin()

    @property
    def is_registered(self) -> bool:
        return self._registration.phase is Phase.REGISTERED

    def take_output(self) -> list[str]:
        """The lines to send now, without their ends."""
        taken, self._output = self._output, []
        return taken

    def say(self, target: str, text: str, kind: Kind = Kind.MESSAGE) -> list[str]:
        """Say all of a text, in as many lines as it takes. Gives them back as they are sent."""
        room = room_for_text(self.nick, self._source, kind.value, target)
        pieces = split_text(text, room)
        self._output += (format_line(kind.value, target, piece, trailing=True) for piece in pieces)
        return pieces

    def ping(self, token: str) -> None:
        self._output.append(format_line("PING", token))

    def quit(self, reason: str) -> None:
        self._output.append(format_line("QUIT", reason, trailing=True))

    def received(self, line: Line) -> list[Event]:
        """Raises what ends the connection: a refused registration, or the server's ERROR."""
        if not self.is_registered:
            self._output += self._registration.received(line)
        handler = _HANDLERS.get(line.command)
        if handler is not None:
            return handler(self, line)
        if self.is_registered and line.command[0] in "45" and line.command.isdecimal():
            return [Refused(line.command, line.param(1), line.params[-1])]
        return []

    def is_own(self, nick: str) -> bool:
        return fold(nick) == fold(self.nick)

    def channel_of(self, target: str) -> str | None:
        """The channel that a target names, also when it is meant for its operators only (`@#ops`)."""
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
                    self._status_prefixes = value.partition(")")[2] or self._status_prefixes
                case "STATUSMSG":
                    self._status_targets = value
        return []

    def _ping(self, line: Line) -> list[Event]:
        self._output.append(format_line("PONG", *line.params))
        return []

    def _pong(self, line: Line) -> list[Event]:
        return [Answered(line.params[-1] if line.params else "")]

    def _error(self, line: Line) -> list[Event]:
        raise TemporaryError(f"the server closed the connection: {line.param(0)}")

    def _said(self, line: Line) -> list[Event]:
        called = line.tags.get(mentions.TAG)
        said = Said(
            sender=line.nick,
            channel=self.channel_of(line.param(0)),
            text=line.param(1),
            is_notice=line.command == Kind.NOTICE.value,
            is_from_server="!" not in line.source,
            mentions=None if called is None else tuple(called.split(",")),
            time=line.tags.get("time"),
            tags=line.tags,
        )
        # Before registration a server talks to whoever connected, not to us.
        return [said] if self.is_registered else []

    def _join(self, line: Line) -> list[Event]:
        channel = line.param(0)
        if self.is_own(line.nick):
            self._source = line.source
            self.roster.enter(channel)
        self.roster.add(channel, [line.nick])
        return [Joined(line.nick, channel)]

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
        listed = line.params[-1].split()
        self.roster.add(line.param(2), (name.lstrip(self._status_prefixes) for name in listed))
        return []


_HANDLERS: dict[str, Callable[[Session, Line], list[Event]]] = {
    numerics.RPL_WELCOME: Session._welcome,
    numerics.RPL_ISUPPORT: Session._isupport,
    numerics.RPL_NAMREPLY: Session._names,
    "ERROR": Session._error,
    "JOIN": Session._join,
    "KICK": Session._kick,
    "NICK": Session._nick,
    "NOTICE": Session._said,
    "PART": Session._part,
    "PING": Session._ping,
    "PONG": Session._pong,
    "PRIVMSG": Session._said,
    "QUIT": Session._quit,
}
