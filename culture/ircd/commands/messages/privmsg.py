"""PRIVMSG, NOTICE and TAGMSG: send a message to channels and users."""

from collections.abc import Mapping

from culture.ircd.commands.messages.misspelled import hint_at_misspelled
from culture.ircd.commands.targets import check_number, split_targets
from culture.ircd.delivery.text import LINE_BYTES, cut, size
from culture.ircd.events import Said, SpeechCommand
from culture.ircd.model.channel import Channel, Flag, Status, status_of
from culture.ircd.model.user import User
from culture.ircd.refusal import Refusal, no_such_channel, no_such_nick
from culture.ircd.server import Ircd
from culture.ircd.session import Session
from culture.names import SIGNS
from culture.protocol.capabilities import Cap
from culture.protocol.line import NO_TAGS, Line, format_line
from culture.protocol.mentions import find_mentions
from culture.protocol.multiline import Fragment, combine
from culture.protocol.numerics import (
    ERR_CANNOTSENDTOCHAN,
    ERR_CANNOTSENDTOUSER,
    ERR_NEEDREGGEDNICK,
    ERR_NORECIPIENT,
    ERR_NOTEXTTOSEND,
    RPL_AWAY,
)
from culture.protocol.tags import is_client_only, is_denied

_SURELY_FITS = LINE_BYTES - len(":  PRIVMSG  :")


def privmsg(ircd: Ircd, session: Session, line: Line) -> None:
    """Send a message to each target."""
    _say(ircd, session, line, "PRIVMSG")


def notice(ircd: Ircd, session: Session, line: Line) -> None:
    """Send a notice to each target; errors are not reported."""
    _say(ircd, session, line, "NOTICE")


def tagmsg(ircd: Ircd, session: Session, line: Line) -> None:
    """Send client-only tags without a text to each target."""
    _say(ircd, session, line, "TAGMSG")


def _say(ircd: Ircd, session: Session, line: Line, command: SpeechCommand) -> None:
    # RFC 2812 section 3.3.2: a NOTICE is never answered, not even by an error, so that two bots do not
    # answer each other forever.
    is_silent = command == "NOTICE"
    try:
        targets = _targets(ircd, line, command)
    except Refusal:
        if is_silent:
            return
        raise
    tags = client_tags(ircd, session, line)
    if command == "TAGMSG" and not tags and any(map(is_client_only, line.tags)):
        # CLIENTTAGDENY removed all of its tags.
        return
    for target in targets:
        try:
            say_to(ircd, session, command, target, line.param(1), tags)
        except Refusal as refusal:
            if not is_silent:
                ircd.refuse(session, refusal)


def _targets(ircd: Ircd, line: Line, command: str) -> list[str]:
    targets = split_targets(line.param(0))
    if not targets:
        raise Refusal(ERR_NORECIPIENT, f"No recipient given ({command})")
    if command != "TAGMSG" and not line.param(1):
        raise Refusal(ERR_NOTEXTTOSEND, "No text to send")
    check_number(command, targets, ircd.limits)
    return targets


def client_tags(ircd: Ircd, session: Session, line: Line) -> Mapping[str, str]:
    """Return the client-only tags that the server relays with a line (IRCv3 message-tags)."""
    if not line.tags or Cap.MESSAGE_TAGS not in session.caps:
        return NO_TAGS
    denied = ircd.config.denied_client_tags
    return {
        tag: value
        for tag, value in line.tags.items()
        if is_client_only(tag) and not (denied and is_denied(tag, denied))
    }


def say_to(
    ircd: Ircd,
    session: Session,
    command: SpeechCommand,
    name: str,
    text: str,
    tags: Mapping[str, str],
    fragments: tuple[Fragment, ...] = (),
) -> None:
    """Send a message to one target. A multi-line text comes with its fragments."""
    if name.startswith("#"):
        _say_in_channel(ircd, session, command, name, None, text, tags, fragments)
    elif name[0] in SIGNS and (to := status_of(name)):
        # STATUSMSG: `@#ops` is for the operators in #ops. No nick begins with such a sign.
        _say_in_channel(ircd, session, command, name.lstrip(SIGNS), to, text, tags, fragments)
    else:
        _say_to_user(ircd, session, command, name, text, tags, fragments)


def _say_in_channel(
    ircd: Ircd,
    session: Session,
    command: SpeechCommand,
    name: str,
    to: Status | None,
    text: str,
    tags: Mapping[str, str],
    fragments: tuple[Fragment, ...],
) -> None:
    sender, channel = session.user, ircd.state.find_channel(name)
    if channel is None or not (channel.is_visible_to(sender) or channel.may_speak(sender)):
        raise no_such_channel(name)
    check_may_say(channel, sender, text, fragments)
    shown = channel.addressed(to)
    text, fragments = _fit_all(sender, command, shown, text, fragments)
    mentioned = tuple(find_mentions(text, ircd.state.users.get))
    ircd.publish(Said(sender, command, channel, text, tags, mentioned, to, fragments))
    if mentioned and to is None:
        call_absent(ircd, sender, channel, mentioned)
    if command == "PRIVMSG":
        hint_at_misspelled(ircd, session, channel, text)


def check_may_say(channel: Channel, sender: User, text: str, fragments: tuple[Fragment, ...] = ()) -> None:
    """Refuse a message that the channel does not accept, and name the mode that is the reason."""
    if not channel.may_speak(sender):
        why = _why_silent(channel, sender)
    elif not channel.takes(text, fragments):
        why = "(+C)"
    else:
        return
    raise Refusal(ERR_CANNOTSENDTOCHAN, channel.name, f"Cannot send to channel {why}")


def _why_silent(channel: Channel, sender: User) -> str:
    if Flag.NO_EXTERNAL in channel.flags and sender not in channel.members:
        return "(+n): you are not a member"
    if Flag.MODERATED in channel.flags:
        return "(+m)"
    if Flag.REGISTERED_SPEAK in channel.flags and sender.account is None:
        return "(+M): log in to an account"
    return "(+b)"


def _say_to_user(
    ircd: Ircd,
    session: Session,
    command: SpeechCommand,
    name: str,
    text: str,
    tags: Mapping[str, str],
    fragments: tuple[Fragment, ...],
) -> None:
    sender, user = session.user, ircd.state.find_user(name)
    if user is None:
        raise no_such_nick(name)
    if not user.accepts_messages_from(sender):
        raise Refusal(ERR_NEEDREGGEDNICK, user.nick, "Log in to an account to write to this user (+R)")
    if user.server and ircd.links is not None and not ircd.links.takes_direct(user.server):
        raise Refusal(ERR_CANNOTSENDTOUSER, user.nick, f"Direct messages cannot reach {user.server}")
    text, fragments = _fit_all(sender, command, user.nick, text, fragments)
    ircd.publish(Said(sender, command, user, text, tags, (), None, fragments))
    if user.away and command == "PRIVMSG":
        ircd.reply(session, RPL_AWAY, user.nick, user.away)


def _fit_all(
    sender: User, command: str, name: str, text: str, fragments: tuple[Fragment, ...]
) -> tuple[str, tuple[Fragment, ...]]:
    if not fragments:
        return fit(sender.mask, command, name, text), fragments
    fragments = tuple(
        fragment._replace(text=fit(sender.mask, command, name, fragment.text)) for fragment in fragments
    )
    return combine(fragments), fragments


def fit(mask: str, command: str, name: str, text: str) -> str:
    """Cut the text so that `:mask COMMAND name :text` fits into one line."""
    if len(mask) + len(name) + len(text) <= _SURELY_FITS and text.isascii() and name.isascii():
        return text
    return cut(text, LINE_BYTES - size(mask) - len(command) - size(name) - len(":   :"))


def call_absent(ircd: Ircd, sender: User, channel: Channel, mentioned: tuple[User, ...]) -> None:
    """Send a NOTICE to mentioned local users who are not in the channel, if they may know of it."""
    for user in mentioned:
        if user is sender or user in channel.members or user.session is None:
            continue
        if channel.is_visible_to(user) and user.accepts_messages_from(sender):
            text = f"{sender.nick} mentioned you in {channel.name}"
            line = format_line("NOTICE", user.nick, text, source=ircd.name, trailing=True)
            ircd.send(user.session, line)
