"""Tell other hosts which local users are in a channel after it was renamed."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from culture.ircd.events import Joined, Parted
from culture.ircd.model.channel import Channel, Status
from culture.ircd.model.state import State
from culture.ircd.model.user import UNNAMED, User
from culture.ircd.recording.record import Moment
from culture.ircd.replication.remote_users import relay_known, restore_empty_channel
from culture.ircd.replication.snapshot_lines import channel_lines, place_line, standing_lines
from culture.ircd.replication.stamps import Stamp
from culture.names import fold

if TYPE_CHECKING:
    from culture.ircd.server import Ircd

# So many members fit in a line, however long their nicks are.
MEMBERS_PER_LINE: Final = 200


def relay_rename(ircd: "Ircd", channel: Channel, old: str) -> None:
    """Tell other hosts the members and settings of a channel that was renamed here."""
    former = ircd.state.former_names.get(fold(old))
    if former is not None and former.channel is channel and not channel.is_local:
        _leave_behind(ircd, channel, old)
        for user, held in channel.members.items():
            restamp_member(ircd, user, channel, former.until, held)
        for name in (old, channel.name):
            relay_members(ircd, name)
        relay_channel(ircd, channel, channel.members)


def restamp_member(ircd: "Ircd", user: User, channel: Channel, named: Stamp, held: set[Status]) -> None:
    """Stamp a local member as joined after the rename, so that an older rename does not move them."""
    if not user.server:
        standing = user.standing_in(channel)
        at_ms = max(named.at_ms, channel.made_anew.at_ms, standing.latest_ms) + 1
        standing.renew(Stamp(at_ms, ircd.name), held)


def learns_of_renames(ircd: "Ircd", guest: User) -> bool:
    """Return whether a remote user's host learns of renames: some route to it is not limited to channels."""
    return ircd.links is not None and ircd.links.takes_direct(guest.server)


def _leave_behind(ircd: "Ircd", channel: Channel, old: str) -> None:
    """Keep users under the old name whose host does not learn of the rename."""
    for user in [user for user in channel.members if user.server and not learns_of_renames(ircd, user)]:
        ircd.apply_change(Parted(user, channel, ""), ircd.new_id(), ircd.clock())
        left = (
            ircd.state.find_shared(old)
            or restore_empty_channel(ircd, old)
            or Channel(old, channel.created_at)
        )
        ircd.apply_change(Joined(user, left), ircd.new_id(), ircd.clock())


def relay_channel(ircd: "Ircd", channel: Channel, movers: Iterable[User]) -> None:
    """Tell other hosts the settings of a channel, and the statuses of users who moved to it."""
    relay_known(ircd, channel.name, channel_lines(channel, ircd.name))
    for user in movers:
        relay_known(ircd, channel.name, standing_lines(ircd.state, user, channel))


def relay_members(ircd: "Ircd", name: str, most: int = MEMBERS_PER_LINE) -> None:
    """Tell other hosts the local members of a channel, in parts that each cover a range of nicks."""
    channel = ircd.state.find_shared(name)
    members = [] if channel is None else [user for user in channel.members if not user.server]
    members.sort(key=lambda user: user.key)
    pieces = [members[first : first + most] for first in range(0, len(members), most)]
    bounds = ["", *(piece[0].key for piece in pieces[1:]), ""]
    # The source is this host: no user caused the event.
    this = User(host=ircd.name, signed_on_at=ircd.clock(), username=UNNAMED)
    for index, piece in enumerate(pieces or [[]]):
        text = "\n".join(line for user in piece if channel for line in _lines(ircd.state, user, channel))
        between = (bounds[index], bounds[index + 1])
        ircd.record.add_for_links(Moment("", ircd.clock()), "MEMBERS", this, name, text, between)


def _lines(state: State, user: User, channel: Channel) -> Iterator[str]:
    yield from standing_lines(state, user, channel)
    yield place_line(user, channel)
