"""Who of this host is in a channel, as other hosts are told it after a channel got another name."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from culture.ircd.channel import Channel, Status
from culture.ircd.events import Joined, Parted
from culture.ircd.mesh.guests import revive, tell_known
from culture.ircd.mesh.lines import channel_lines, place_line, standing_lines
from culture.ircd.record import Moment
from culture.ircd.stamps import Stamp
from culture.ircd.state import State
from culture.ircd.user import UNNAMED, User
from culture.names import fold

if TYPE_CHECKING:
    from culture.ircd.core import Ircd

MOST_IN_A_LINE: Final = 200
"""So that it fits, whatever their nicks are."""


def tell_renamed(ircd: "Ircd", channel: Channel, old: str) -> None:
    """Of a channel that was given another name here."""
    former = ircd.state.former_names.find(fold(old))
    if former is not None and former.channel is channel and not channel.is_local:
        _leave_behind(ircd, channel, old)
        for user, held in channel.members.items():
            renew_standing(ircd, user, channel, former.until, held)
        for name in (old, channel.name):
            tell_members(ircd, name)
        tell_settled(ircd, channel, channel.members)


def renew_standing(ircd: "Ircd", user: User, channel: Channel, named: Stamp, held: set[Status]) -> None:
    """Who is here came after the channel got its name: no other that was called so before is theirs."""
    if not user.server:
        standing = user.standing_in(channel)
        at_ms = max(named.at_ms, channel.made_anew.at_ms, standing.latest_ms) + 1
        standing.renew(Stamp(at_ms, ircd.name), held)


def hears_of_names(ircd: "Ircd", guest: User) -> bool:
    """Whether the host of a user is told of another name: not where all ways are limited to some channels."""
    return ircd.links is not None and ircd.links.takes_direct(guest.server)


def _leave_behind(ircd: "Ircd", channel: Channel, old: str) -> None:
    """Whose host does not hear of it is where they were."""
    for user in [user for user in channel.members if user.server and not hears_of_names(ircd, user)]:
        ircd.bring_about(Parted(user, channel, ""), ircd.new_id(), ircd.clock())
        left = ircd.state.find_shared(old) or revive(ircd, old) or Channel(old, channel.created_at)
        ircd.bring_about(Joined(user, left), ircd.new_id(), ircd.clock())


def tell_settled(ircd: "Ircd", channel: Channel, movers: Iterable[User]) -> None:
    """What a channel is like, and what those are who came to it with its name."""
    tell_known(ircd, channel.name, channel_lines(channel))
    for user in movers:
        tell_known(ircd, channel.name, standing_lines(ircd.state, user, channel))


def tell_members(ircd: "Ircd", name: str, most: int = MOST_IN_A_LINE) -> None:
    """All who are here, in pieces: each is about the nicks from one to before another."""
    channel = ircd.state.find_shared(name)
    members = [] if channel is None else [user for user in channel.members if not user.server]
    members.sort(key=lambda user: user.key)
    pieces = [members[first : first + most] for first in range(0, len(members), most)]
    bounds = ["", *(piece[0].key for piece in pieces[1:]), ""]
    # Nobody did it.
    this = User(host=ircd.name, signed_on_at=ircd.clock(), username=UNNAMED)
    for index, piece in enumerate(pieces or [[]]):
        text = "\n".join(line for user in piece if channel for line in _lines(ircd.state, user, channel))
        between = (bounds[index], bounds[index + 1])
        ircd.record.passing(Moment("", ircd.clock()), "MEMBERS", this, name, text, between)


def _lines(state: State, user: User, channel: Channel) -> Iterator[str]:
    yield from standing_lines(state, user, channel)
    yield place_line(user, channel)
