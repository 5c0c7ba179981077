"""MARKREAD: synchronize read markers between the connections of a user (IRCv3 draft/read-marker)."""

from collections.abc import Mapping

from culture.ircd.delivery.text import size
from culture.ircd.events import MarkerMoved
from culture.ircd.failures import Failure
from culture.ircd.model.channel import Channel
from culture.ircd.model.read_markers import is_timestamp
from culture.ircd.server import Ircd
from culture.ircd.session import Session
from culture.names import Folded, fold, is_channel, is_nick
from culture.protocol.capabilities import Cap
from culture.protocol.line import Line, format_line
from culture.protocol.render import format_time

UNREAD = "*"
_PREFIX = "timestamp="


def markread(ircd: Ircd, session: Session, line: Line) -> None:
    """Show the read marker of a target, or move it forward."""
    if not line.param(0):
        raise Failure("NEED_MORE_PARAMS", text="Missing parameters")
    _check(ircd, line.param(0))
    target = _spelled(ircd, session, line.param(0))
    if len(line.params) > 1:
        _move(ircd, session, target, line.param(1))
    _tell(ircd, session, target)


def tell_marker(ircd: Ircd, session: Session, channel: Channel) -> None:
    """Send the read marker of a channel that the client joins, before NAMES."""
    if Cap.READ_MARKER in session.caps:
        _tell(ircd, session, channel.name)


def carry_markers(ircd: Ircd, session: Session, before: Mapping[Folded, str]) -> None:
    """Merge the client's markers into those of its account after a login, and send it those that differ."""
    user, markers = session.user, ircd.state.markers
    early, user.markers = user.markers, {}
    for target, timestamp in early.items():
        if timestamp > markers.of(user).get(target, ""):
            ircd.publish(MarkerMoved(user, _spelled(ircd, session, target), timestamp, ircd.name))
    if Cap.READ_MARKER not in session.caps:
        return
    for target in dict.fromkeys([*user.channels, *early]):
        if markers.of(user).get(target) != before.get(target):
            _tell(ircd, session, _spelled(ircd, session, target))


def _check(ircd: Ircd, target: str) -> None:
    is_fit = is_channel(target) and size(target) <= ircd.limits.channel_length
    if not is_fit and (not is_nick(target) or len(target) > ircd.limits.nick_length):
        raise Failure("INVALID_PARAMS", target, text="Neither a channel nor a nick")


def _spelled(ircd: Ircd, session: Session, target: str) -> str:
    """Return the target in its own spelling if it exists, else as it was given."""
    if is_channel(target):
        channel = ircd.state.find_channel(target)
        return channel.name if channel and channel.is_visible_to(session.user) else target
    user = ircd.state.find_user(target)
    return user.nick if user else target


def _move(ircd: Ircd, session: Session, target: str, moment: str) -> None:
    timestamp = moment.removeprefix(_PREFIX)
    if not moment.startswith(_PREFIX) or not is_timestamp(timestamp):
        raise Failure("INVALID_PARAMS", moment, text="A time is given as timestamp=YYYY-MM-DDThh:mm:ss.sssZ")
    # A marker is never in the future and never moves back.
    timestamp = min(timestamp, format_time(ircd.clock()))
    if timestamp > ircd.state.markers.of(session.user).get(fold(target), ""):
        ircd.publish(MarkerMoved(session.user, target, timestamp, ircd.name))


def _tell(ircd: Ircd, session: Session, target: str) -> None:
    timestamp = ircd.state.markers.of(session.user).get(fold(target))
    moment = UNREAD if timestamp is None else _PREFIX + timestamp
    ircd.send(session, format_line("MARKREAD", target, moment, source=ircd.name))
