"""MARKREAD: how far one has read, on all one's connections (IRCv3 draft/read-marker)."""

from culture.ircd.channel import Channel
from culture.ircd.core import Ircd
from culture.ircd.events import MarkerMoved
from culture.ircd.failures import Failure
from culture.ircd.markers import is_timestamp
from culture.ircd.session import Session
from culture.names import fold, is_channel, is_nick
from culture.protocol.capabilities import Cap
from culture.protocol.line import Line, format_line

UNREAD = "*"
_PREFIX = "timestamp="


def markread(ircd: Ircd, session: Session, line: Line) -> None:
    if not line.param(0):
        raise Failure("NEED_MORE_PARAMS", text="Missing parameters")
    target = _spelled(ircd, session, line.param(0))
    if len(line.params) > 1:
        _move(ircd, session, target, line.param(1))
    _tell(ircd, session, target)


def tell_marker(ircd: Ircd, session: Session, channel: Channel) -> None:
    """To who joined a channel, before they know who is in it."""
    if Cap.READ_MARKER in session.caps:
        _tell(ircd, session, channel.name)


def _spelled(ircd: Ircd, session: Session, target: str) -> str:
    """A channel or nick as it is written where it exists; it need not."""
    if is_channel(target) and len(target) <= ircd.limits.channel_length:
        channel = ircd.state.find_channel(target)
        return channel.name if channel and channel.is_visible_to(session.user) else target
    if not is_nick(target) or len(target) > ircd.limits.nick_length:
        raise Failure("INVALID_PARAMS", target, text="That is neither a channel nor a nick")
    user = ircd.state.find_user(target)
    return user.nick if user else target


def _move(ircd: Ircd, session: Session, target: str, moment: str) -> None:
    timestamp = moment.removeprefix(_PREFIX)
    if not moment.startswith(_PREFIX) or not is_timestamp(timestamp):
        raise Failure("INVALID_PARAMS", moment, text="A time is given as timestamp=YYYY-MM-DDThh:mm:ss.sssZ")
    if timestamp > ircd.state.markers.of(session.user).get(fold(target), ""):
        ircd.publish(MarkerMoved(session.user, target, timestamp, ircd.name))


def _tell(ircd: Ircd, session: Session, target: str) -> None:
    timestamp = ircd.state.markers.of(session.user).get(fold(target))
    moment = UNREAD if timestamp is None else _PREFIX + timestamp
    ircd.send(session, format_line("MARKREAD", target, moment, source=ircd.name))
