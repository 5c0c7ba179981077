"""Add and remove users of other hosts, and relay what other hosts may not know about them."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from culture.ircd.delivery.monitor_push import tell_offline, tell_online
from culture.ircd.delivery.queue import DeliveryQueue
from culture.ircd.events import Quit
from culture.ircd.model.channel import Channel
from culture.ircd.model.state import State
from culture.ircd.model.user import UNNAMED, SignOn, User, UserMode
from culture.ircd.recording.record import Moment
from culture.ircd.replication.snapshot_lines import SnapshotUser, setting_line, settings_of
from culture.names import fold
from culture.protocol.accounts import account_at
from culture.protocol.event_record import EventRecord
from culture.protocol.line import format_line
from culture.protocol.render import Rendered

if TYPE_CHECKING:
    from culture.ircd.server import Ircd


def add_remote_user(ircd: "Ircd", server: str, known: SnapshotUser) -> User:
    """Add a user of another host, who is in no channel yet."""
    user = User(
        known.nick,
        host=known.host,
        signed_on_at=known.signed_on_at,
        username=known.username,
        away=known.away,
        account=account_at(known.account, server),
        spoke_at=known.signed_on_at,
        realname=known.realname,
        metadata=dict(known.metadata),
        server=server,
        session_id=known.session_id,
        standings=ircd.state.early_standings.pop(SignOn(round(known.signed_on_at * 1000), server)) or {},
    )
    ircd.state.add_user(user)
    set_modes(ircd.state, user, known.modes)
    ircd.state.dirty.touch_user(user)
    tell_online(ircd, user)
    return user


def add_from_event(ircd: "Ircd", record: EventRecord, who: SignOn, other: User | None) -> User:
    """Add a user of whom only one event is known, because a limited link does not list users.

    `other` is the user who had the nick before and is removed.
    """
    user = user_from_mask(record.source)
    if other is not None:
        remove_remote_user(ircd, other, "")
    about = ("", who.at_ms / 1000, user.nick, record.session_id)
    return add_remote_user(
        ircd, record.origin, SnapshotUser(user.nick, user.username, user.host, record.account, *about)
    )


def set_modes(state: State, user: User, letters: str) -> None:
    """Set exactly these user modes."""
    for mode in UserMode:
        state.set_user_mode(user, mode, present=mode in letters)


def remove_remote_user(ircd: "Ircd", user: User, reason: str, into: DeliveryQueue | None = None) -> None:
    """Remove a user of another host, and show their neighbours a QUIT that is not recorded.

    The user may still be connected there, so their standings are kept until their host reports them again.
    """
    ircd.state.early_standings.add(ircd.state.sign_on_of(user), user.standings)
    ircd.apply_change(Quit(user, reason), ircd.new_id(), ircd.clock(), into)
    tell_offline(ircd, user.nick)


def host_lost(state: State, host: str) -> None:
    """Mark the channels of users of a lost host: on that host they may still be members."""
    guests = state.remote_users.get(host, ())
    for channel in {channel for user in guests for channel in user.channels.values()}:
        channel.torn |= {host}
        state.dirty.touch_channel(channel.key)


def host_returned(state: State, host: str) -> None:
    """Remove the marks that `host_lost` set."""
    for key in state.empty_channels.torn():
        state.dirty.touch_channel(key)
    for channel in [*state.channels.values(), *state.shadowed.values()]:
        channel.torn -= {host}
    state.empty_channels.mend(host)


def remove_if_in_no_channel(ircd: "Ircd", user: User) -> None:
    """Remove a user of another host who is in no channel."""
    if user.server and not user.channels:
        remove_remote_user(ircd, user, "")


def relay_known(ircd: "Ircd", channel: str, news: Iterable[str]) -> None:
    """Relay snapshot lines about one channel to other hosts, which may not know them."""
    # The source is this host: no user caused the event.
    this = User(host=ircd.name, signed_on_at=ircd.clock(), username=UNNAMED)
    for line in news:
        ircd.record.add_for_links(Moment("", ircd.clock()), "KNOWN", this, channel, line)


def relay_kicked(ircd: "Ircd", user: User, channel: Channel, by: str, reason: str) -> None:
    """Tell other hosts that a local user was kicked: the kicking host may not reach all of them."""
    if not user.server:
        ircd.record.add_for_links(Moment("", ircd.clock()), "LEFT", user, channel.name, reason, (by,))


def user_from_mask(mask: str) -> User:
    """Return a user of whom only the mask is known; the mask may also be the name of a host."""
    address, _, host = mask.rpartition("@")
    nick, _, username = address.partition("!")
    user = User(nick, host=host, signed_on_at=0.0, username=username)
    user.mask = mask
    return user


def author_of(record: EventRecord) -> User:
    """Return the author of an event whose host has not reported that user."""
    user = user_from_mask(record.source)
    user.account, user.server, user.session_id = record.account, record.origin, record.session_id
    return user


def restore_empty_channel(ircd: "Ircd", name: str) -> Channel | None:
    """Restore an empty channel with its settings, because somebody on another host is in it."""
    channel = ircd.state.empty_channels.pop(fold(name))
    if channel is not None:
        channel.name = name
        relay_known(ircd, name, (setting_line(channel, each, ircd.name) for each in settings_of(channel)))
    return channel


def announce_statuses(ircd: "Ircd", user: User, channel: Channel, into: DeliveryQueue | None = None) -> None:
    """Send the members of a channel the statuses of a user who joined, as a MODE from the user's host."""
    if held := sorted(channel.members[user]):
        nicks = [user.nick] * len(held)
        line = format_line("MODE", channel.name, "+" + "".join(held), *nicks, source=user.server or ircd.name)
        (into or ircd.delivery).tell(Rendered(line, ircd.clock()), channel.members)
