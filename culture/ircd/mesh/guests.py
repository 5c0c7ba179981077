"""Users of other hosts: how they come to be known here, and how they are forgotten."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from culture.ircd.channel import Channel
from culture.ircd.delivery import Delivery
from culture.ircd.events import Quit
from culture.ircd.mesh.lines import KnownUser, setting_line, settings_of
from culture.ircd.monitoring import tell_offline, tell_online
from culture.ircd.record import Moment
from culture.ircd.state import State
from culture.ircd.user import UNNAMED, SignOn, User, UserMode
from culture.names import fold
from culture.protocol.line import format_line
from culture.protocol.render import Rendered

if TYPE_CHECKING:
    from culture.ircd.core import Ircd


def add_guest(ircd: "Ircd", server: str, known: KnownUser) -> User:
    """Somebody who is in no channel yet."""
    user = User(
        known.nick,
        host=known.host,
        signed_on_at=known.signed_on_at,
        username=known.username,
        away=known.away,
        account=known.account,
        spoke_at=known.signed_on_at,
        realname=known.realname,
        metadata=dict(known.metadata),
        server=server,
        standings=ircd.state.early.take(SignOn(round(known.signed_on_at * 1000), server)) or {},
    )
    ircd.state.add_user(user)
    set_modes(ircd.state, user, known.modes)
    ircd.state.changes.touch_user(user)
    tell_online(ircd, user)
    return user


def set_modes(state: State, user: User, letters: str) -> None:
    for mode in UserMode:
        state.set_user_mode(user, mode, present=mode in letters)


def remove_guest(ircd: "Ircd", user: User, reason: str, into: Delivery | None = None) -> None:
    """Whoever sees them sees them quit; history says nothing of it: where they are, they may not have.

    What they were given is kept for when their host tells of them again: it may not have heard of it.
    """
    ircd.state.early.remember(ircd.state.sign_on_of(user), user.standings)
    ircd.bring_about(Quit(user, reason), ircd.new_id(), ircd.clock(), into)
    tell_offline(ircd, user.nick)


def drop_if_unseen(ircd: "Ircd", user: User) -> None:
    if user.server and not user.channels:
        remove_guest(ircd, user, "")


def tell_known(ircd: "Ircd", channel: str, news: Iterable[str]) -> None:
    """To other hosts, which may not know it: lines of a snapshot that are about one channel."""
    # Nobody did it.
    this = User(host=ircd.name, signed_on_at=ircd.clock(), username=UNNAMED)
    for line in news:
        ircd.record.passing(Moment("", ircd.clock()), "KNOWN", this, channel, line)


def tell_kicked(ircd: "Ircd", user: User, channel: Channel, by: str, reason: str) -> None:
    """To other hosts, of somebody who is on this one: not all may hear of it from where it was done."""
    if not user.server:
        ircd.record.passing(Moment("", ircd.clock()), "LEFT", user, channel.name, reason, (by,))


def user_of(mask: str) -> User:
    """Somebody of whom nothing else is known, or a host."""
    address, _, host = mask.rpartition("@")
    nick, _, username = address.partition("!")
    user = User(nick, host=host, signed_on_at=0.0, username=username)
    user.mask = mask
    return user


def revive(ircd: "Ircd", name: str) -> Channel | None:
    """A channel that everybody has left here, as it was: elsewhere somebody is in it, or made it again."""
    channel = ircd.state.emptied.take(fold(name))
    if channel is not None:
        channel.name = name
        tell_known(ircd, name, (setting_line(channel, each) for each in settings_of(channel)))
    return channel


def show_statuses(ircd: "Ircd", user: User, channel: Channel, into: Delivery | None = None) -> None:
    """What somebody is from the moment they came, as servers tell it."""
    if held := sorted(channel.members[user]):
        nicks = [user.nick] * len(held)
        line = format_line("MODE", channel.name, "+" + "".join(held), *nicks, source=user.server)
        (into or ircd.delivery).tell(Rendered(line, ircd.clock()), channel.members)
