"""A channel that another host gave another name, which may be that of a channel here by now."""

from typing import TYPE_CHECKING

from culture.ircd.channel import Channel
from culture.ircd.commands.channel_name import show_rename
from culture.ircd.commands.membership import send_welcome
from culture.ircd.events import ChannelRenamed, Joined, Parted
from culture.ircd.mesh.lines import settings_of
from culture.ircd.mesh.merging import Merge
from culture.ircd.user import User
from culture.protocol.happening import Happening

if TYPE_CHECKING:
    from culture.ircd.core import Ircd


def take_rename(ircd: "Ircd", it: Happening, by: User) -> None:
    channel, new = ircd.state.find_shared(it.target), it.params[0]
    if channel is None or ircd.state.channels.get(channel.key) is not channel:
        return
    other = ircd.state.find_channel(new)
    if other is None or other is channel:
        old = channel.name
        ircd.bring_about(ChannelRenamed(by, channel, new, it.text), it.id, it.at)
        show_rename(ircd, channel, old, it.text)
    elif not other.is_local:
        _move(ircd, it, by, channel, other)


def _move(ircd: "Ircd", it: Happening, by: User, channel: Channel, other: Channel) -> None:
    """All who are in the one are in the other from now on, with what they are there."""
    Merge(ircd, other, by, it.id, it.at).merge([*settings_of(channel)], channel.made_anew)
    for user in [*channel.members]:
        standing = user.standing_in(channel)
        ircd.bring_about(Parted(user, channel, it.text), it.id, it.at)
        if user not in other.members:
            user.standings[other.key] = standing
            ircd.bring_about(Joined(user, other), it.id, it.at)
            if user.session is not None:
                send_welcome(ircd, user.session, other)
    ircd.state.former_names.remember(channel.key, other)
