"""RENAME: rename a channel with its members and settings (IRCv3 draft/channel-rename)."""

from typing import Final

from culture.ircd.commands.channels.membership import send_welcome
from culture.ircd.commands.targets import require_membership
from culture.ircd.delivery.change_lines import join_for
from culture.ircd.delivery.send_from import send_from
from culture.ircd.delivery.text import cut, size
from culture.ircd.events import ChannelRenamed
from culture.ircd.failures import Failure
from culture.ircd.model.channel import Channel
from culture.ircd.model.user import User
from culture.ircd.refusal import not_channel_operator
from culture.ircd.replication.member_lists import relay_rename
from culture.ircd.server import Ircd
from culture.ircd.session import Session
from culture.names import fold, is_channel
from culture.protocol.capabilities import Cap
from culture.protocol.line import Line, format_line

# How many members may have to rejoin per second. Each gets the names of all members, so a large channel is
# renamed rarely.
_REJOINS_PER_S: Final = 10


def rename(ircd: Ircd, session: Session, line: Line) -> None:
    """Rename a channel of which the client is an operator."""
    channel = require_membership(ircd, session, line.param(0))
    if not channel.is_operator(session.user):
        raise not_channel_operator(channel.name)
    _check(ircd, channel, line.param(1))
    reason = cut(line.param(2), ircd.limits.kick_length)
    rename_channel(ircd, session.user, channel, line.param(1), reason)


def _check(ircd: Ircd, channel: Channel, new: str) -> None:
    names = (channel.name, new)
    if not is_channel(new) or not 2 <= size(new) <= ircd.limits.channel_length:
        raise Failure("CANNOT_RENAME", *names, text="Not a valid channel name")
    if new == channel.name:
        raise Failure("CANNOT_RENAME", *names, text="The channel already has that name")
    if fold(new) == channel.key:
        return
    if (ircd.state.find_channel(new) or ircd.state.empty_channels.find_torn(new)) is not None:
        raise Failure("CHANNEL_NAME_IN_USE", *names, text="There is already a channel of that name")
    if ircd.clock() - channel.renamed_at < len(_unaware(channel)) // _REJOINS_PER_S:
        raise Failure("CANNOT_RENAME", *names, text="This channel has been renamed recently")


def rename_channel(ircd: Ircd, user: User, channel: Channel, new: str, reason: str) -> None:
    """Publish the new name, show it to clients without the capability, and relay it to other hosts."""
    old = channel.name
    ircd.publish(ChannelRenamed(user, channel, new, reason))
    show_rename(ircd, channel, old, reason)
    relay_rename(ircd, channel, old)


def show_rename(ircd: Ircd, channel: Channel, old: str, reason: str) -> None:
    """Send PART and JOIN to clients without draft/channel-rename, unless only the case changed."""
    if fold(old) != channel.key:
        for session in _unaware(channel):
            _rejoin(ircd, session, channel, old, reason)


def _unaware(channel: Channel) -> list[Session]:
    sessions = (user.session for user in channel.members)
    return [session for session in sessions if session and Cap.CHANNEL_RENAME not in session.caps]


def _rejoin(ircd: Ircd, session: Session, channel: Channel, old: str, reason: str) -> None:
    user = session.user
    words = [reason] if reason else []
    line = format_line("PART", old, *words, source=user.mask, trailing=bool(reason))
    send_from(ircd, user, session, line)
    send_from(ircd, user, session, join_for(session, user, channel))
    send_welcome(ircd, session, channel)
