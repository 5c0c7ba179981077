"""PRIVMSG, NOTICE and TAGMSG: saying something to a channel or to somebody."""

from culture.ircd.channel import PREFIXES, RANKS, Channel, Status
from culture.ircd.core import Ircd
from culture.ircd.events import Said, SpeechCommand
from culture.ircd.refusal import Refusal, no_such_channel, no_such_nick
from culture.ircd.session import Session
from culture.ircd.targets import split_targets
from culture.ircd.text import LINE_BYTES, cut, size
from culture.ircd.user import User
from culture.protocol.capabilities import Cap
from culture.protocol.line import NO_TAGS, Line, format_line
from culture.protocol.mentions import find_mentions
from culture.protocol.numerics import (
    ERR_CANNOTSENDTOCHAN,
    ERR_NEEDREGGEDNICK,
    ERR_NORECIPIENT,
    ERR_NOTEXTTOSEND,
    ERR_TOOMANYTARGETS,
    RPL_AWAY,
)
from culture.protocol.tags import is_client_only

_SIGNS = "".join(PREFIXES.values())


def privmsg(ircd: Ircd, session: Session, line: Line) -> None:
    _say(ircd, session, line, "PRIVMSG")


def notice(ircd: Ircd, session: Session, line: Line) -> None:
    _say(ircd, session, line, "NOTICE")


def tagmsg(ircd: Ircd, session: Session, line: Line) -> None:
    _say(ircd, session, line, "TAGMSG")


def _say(ircd: Ircd, session: Session, line: Line, command: SpeechCommand) -> None:
    # RFC 2812 section 3.3.2: a NOTICE is never answered, not even by an error, so that two robots
    # cannot talk each other to death.
    is_silent = command == "NOTICE"
    try:
        targets = _targets(ircd, line, command)
    except Refusal:
        if is_silent:
            return
        raise
    for target in targets:
        try:
            _say_to_one(ircd, session, line, command, target)
        except Refusal as refusal:
            if not is_silent:
                ircd.refuse(session, refusal)


def _targets(ircd: Ircd, line: Line, command: str) -> list[str]:
    targets = split_targets(line.param(0))
    if not targets:
        raise Refusal(ERR_NORECIPIENT, f"No recipient given ({command})")
    if command != "TAGMSG" and not line.param(1):
        raise Refusal(ERR_NOTEXTTOSEND, "No text to send")
    if 0 < ircd.limits.targets < len(targets):
        raise Refusal(ERR_TOOMANYTARGETS, targets[-1], "Too many recipients")
    return targets


def _say_to_one(ircd: Ircd, session: Session, line: Line, command: SpeechCommand, name: str) -> None:
    # STATUSMSG: `@#ops` is for the operators in #ops. No nick begins with such a sign.
    to = None if name.startswith("#") else _status_of(name)
    target = _find_target(ircd, session.user, name.lstrip(_SIGNS) if to else name)
    if isinstance(target, Channel) and not target.takes(line.param(1)):
        raise Refusal(ERR_CANNOTSENDTOCHAN, target.name, "Cannot send to channel (+C)")
    tags = NO_TAGS
    if line.tags and Cap.MESSAGE_TAGS in session.caps:
        tags = {tag: value for tag, value in line.tags.items() if is_client_only(tag)}
    text = _fit(session.user, command, target, line.param(1))
    mentioned = _mentioned(ircd, text) if isinstance(target, Channel) and command != "TAGMSG" else ()
    ircd.publish(Said(session.user, command, target, text, tags, mentioned, to))
    if isinstance(target, User):
        if target.away and command == "PRIVMSG":
            ircd.reply(session, RPL_AWAY, target.nick, target.away)
    elif to is None:
        _call_absent(ircd, session.user, target, mentioned)


def _status_of(name: str) -> Status | None:
    """The lowest standing that is addressed: `@%#ops` and `%#ops` are the same."""
    signs, hash_, _ = name.partition("#")
    if not signs or not hash_ or signs.strip(_SIGNS):
        return None
    return min((status for status, sign in PREFIXES.items() if sign in signs), key=RANKS.__getitem__)


def _find_target(ircd: Ircd, sender: User, name: str) -> Channel | User:
    if name.startswith("#"):
        channel = ircd.state.find_channel(name)
        if channel is None:
            raise no_such_channel(name)
        if not channel.may_speak(sender):
            raise Refusal(ERR_CANNOTSENDTOCHAN, channel.name, "Cannot send to channel")
        return channel
    user = ircd.state.find_user(name)
    if user is None:
        raise no_such_nick(name)
    if not user.takes_from(sender):
        raise Refusal(ERR_NEEDREGGEDNICK, user.nick, "Log in to an account to write to this user (+R)")
    return user


def _fit(sender: User, command: str, target: Channel | User, text: str) -> str:
    """What is left of the text once the sender's mask stands in front of it."""
    name = target.name if isinstance(target, Channel) else target.nick
    # `:mask COMMAND name :text`, as announce writes it.
    return cut(text, LINE_BYTES - size(sender.mask) - len(command) - size(name) - len(":   :"))


def _mentioned(ircd: Ircd, text: str) -> tuple[User, ...]:
    users = ircd.state.users
    found = find_mentions(text, lambda folded: users[folded].nick if folded in users else None)
    return tuple(user for nick in found if (user := ircd.state.find_user(nick)))


def _call_absent(ircd: Ircd, sender: User, channel: Channel, mentioned: tuple[User, ...]) -> None:
    """Whoever is called in a channel that they are not in learns it from the server."""
    for user in mentioned:
        if user is not sender and user not in channel.members and user.session is not None:
            text = f"{sender.nick} mentioned you in {channel.name}"
            line = format_line("NOTICE", user.nick, text, source=ircd.name, trailing=True)
            ircd.send(user.session, line)
