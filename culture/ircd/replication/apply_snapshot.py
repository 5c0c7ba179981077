"""Make a snapshot of another host the known state, and tell clients the difference.

Users who arrive or leave with a host are sent in one batch (IRCv3 netjoin and netsplit).
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from culture.ircd.delivery.batch_lines import wrap_in_batch
from culture.ircd.delivery.queue import DeliveryQueue, pieces_of
from culture.ircd.events import (
    AccountChanged,
    AwayChanged,
    Change,
    HostChanged,
    Joined,
    Kicked,
    MetadataChanged,
    Parted,
    RealnameChanged,
)
from culture.ircd.model.channel import Channel
from culture.ircd.model.user import User
from culture.ircd.replication.merge import ChannelMerge, StatusChange
from culture.ircd.replication.remote_users import (
    add_remote_user,
    announce_statuses,
    host_returned,
    relay_kicked,
    relay_known,
    remove_remote_user,
    restore_empty_channel,
    set_modes,
    user_from_mask,
)
from culture.ircd.replication.snapshot_lines import (
    HostSnapshot,
    SettingChange,
    SnapshotChannel,
    SnapshotMembership,
    SnapshotStanding,
    SnapshotUser,
    channel_line,
    standing_line,
)
from culture.ircd.replication.stamps import NEVER, Stamp
from culture.names import Folded, fold
from culture.protocol.accounts import account_at
from culture.protocol.capabilities import Cap
from culture.protocol.line import MalformedLine
from culture.protocol.peers import validate

if TYPE_CHECKING:
    from culture.ircd.server import Ircd

LEFT_REASON = "Left while their host was out of reach"
KICKED_REASON = "Kicked while their host was out of reach"


def send_queued(ircd: "Ircd", told: DeliveryQueue, batch: str = "") -> None:
    """Send what was queued, as one batch of this type to clients with the batch capability."""
    for session, output in told.drain().items():
        pieces = pieces_of(output)
        if batch and Cap.BATCH in session.caps:
            pieces = [wrap_in_batch(pieces, ircd.new_id(), batch, ircd.name)]
        for piece in pieces:
            ircd.delivery.queue(session, piece)


class SnapshotApplier:
    """Applies one snapshot of one host."""

    def __init__(self, ircd: "Ircd", origin: str, known: HostSnapshot, told: DeliveryQueue) -> None:
        self._ircd = ircd
        self._state = ircd.state
        self._origin = origin
        self._known = known
        self._told = told
        # The source of the changes is the host, not one of its users.
        self._speaker = user_from_mask(origin)
        self._is_snapshot = True

    def run(self) -> None:
        """Apply the whole snapshot. Raises MalformedLine if it has users of another host."""
        for known in self._known.users.values():
            validate.nick(known.nick, self._origin)
            held = self._state.find_user(known.nick)
            if held is not None and held.server != self._origin:
                # Only a user's own connection or own host may change the user.
                raise MalformedLine(f"'{known.nick}' is not a user of '{self._origin}'")
        host_returned(self._state, self._origin)
        for user in [*self._state.remote_users.get(self._origin, ())]:
            if not self._is_here(user):
                remove_remote_user(self._ircd, user, LEFT_REASON, self._told)
        users = {key: self._user(known) for key, known in self._known.users.items()}
        for key, user in users.items():
            self._leave(user, self._known.users[key])
        self._note_kicks()
        for key, user in users.items():
            for place in self._known.users[key].places.values():
                self._come(user, place)
        self._merge_all()

    def merge_news(self) -> None:
        """Merge settings and kicks only. Nothing is relayed: all hosts get the event that carries them."""
        self._is_snapshot = False
        self._note_kicks()
        self._merge_all()

    def place(self, name: str, places: Mapping[Folded, SnapshotMembership], first: str, until: str) -> None:
        """Replace the host's members of a channel whose nicks sort from `first` to before `until`."""
        self._is_snapshot = False
        self._note_kicks()
        for user in [*self._state.remote_users.get(self._origin, ())]:
            if user.key < first or (until and user.key >= until):
                continue
            if (place := places.get(user.key)) is not None:
                self._come(user, place)
            elif (channel := user.channels.get(fold(name))) is not None:
                self._apply(Parted(user, channel, ""))
        self._merge_all()
        if (channel := self._state.find_shared(name)) is not None:
            # A member may have joined later than was known, and then lacks statuses given before.
            self._merge(channel, (), NEVER)

    def _is_here(self, user: User) -> bool:
        """Return whether the snapshot has the same user under the same nick."""
        known = self._known.users.get(user.key)
        return known is not None and known.signed_on_at == user.signed_on_at

    def _note_kicks(self) -> None:
        for standing in self._known.standings:
            self._note_kick(standing)

    def _user(self, known: SnapshotUser) -> User:
        user = self._state.find_user(known.nick)
        if user is not None:
            self._update(user, known)
            return user
        user = add_remote_user(self._ircd, self._origin, known)
        who = self._state.sign_on_of(user)
        for name, standing in user.standings.items():
            # Other hosts changed the user's standing while the user's host was out of reach.
            self._pass_on(name, [standing_line(name, who, standing)])
        return user

    def _update(self, user: User, known: SnapshotUser) -> None:
        set_modes(self._state, user, known.modes)
        user.session_id = known.session_id or user.session_id
        if (user.username, user.host) != (known.username, known.host):
            self._apply(HostChanged(user, known.username, known.host))
        account = account_at(known.account, self._origin)
        if user.account != account:
            self._apply(AccountChanged(user, account))
        if user.realname != known.realname:
            self._apply(RealnameChanged(user, known.realname))
        if user.away != known.away:
            self._apply(AwayChanged(user, known.away))
        for key in {**user.metadata, **known.metadata}:
            if user.metadata.get(key) != known.metadata.get(key):
                self._apply(MetadataChanged(user, user, key, known.metadata.get(key)))

    def _leave(self, user: User, known: SnapshotUser) -> None:
        for key, channel in [*user.channels.items()]:
            if key not in known.places:
                self._apply(Parted(user, channel, ""))

    def _come(self, user: User, place: SnapshotMembership) -> None:
        channel = self._channel(place)
        standing = user.standing_in(channel)
        if not standing.join(place.joined):
            # The user was kicked, and the user's host does not know it yet.
            who = self._state.sign_on_of(user)
            self._pass_on(place.name, [standing_line(place.name, who, standing)])
        elif user not in channel.members:
            standing.made_at = place.made_at
            self._apply(Joined(user, channel))
            announce_statuses(self._ircd, user, channel, self._told)
            if user.away is not None:
                self._apply(AwayChanged(user, user.away, newcomer_to=channel))

    def _channel(self, place: SnapshotMembership) -> Channel:
        """Return the existing channel, the tombstone of an empty one, or a new channel."""
        found = self._state.find_shared(place.name) or restore_empty_channel(self._ircd, place.name)
        return found or Channel(place.name, place.made_at)

    def _note_kick(self, known: SnapshotStanding) -> None:
        """Merge the kick and the statuses of a user in a channel, and remove a member who was kicked."""
        user, channel = self._state.signed_on.get(known.who), self._state.find_shared(known.name)
        standing = self._state.standing_of(known.who, known.name)
        is_news = known.kicked > standing.kicked
        is_out = standing.kick(known.kicked)
        is_member = channel is not None and user in channel.members
        if not is_member:
            # The statuses take effect when the user joins.
            for status, (stamp, present) in known.statuses.items():
                is_news = standing.give(status, stamp, present=present) or is_news
        if user is not None and channel is not None and is_member and is_out:
            self._apply(Kicked(self._speaker, channel, user, KICKED_REASON))
            relay_kicked(self._ircd, user, channel, self._speaker.mask, KICKED_REASON)
        if is_news:
            self._pass_on(known.name, [standing_line(known.name, known.who, standing)])

    def _merge_all(self) -> None:
        changes: dict[Folded, list[StatusChange | SettingChange]] = {}
        for standing in self._known.standings:
            of_channel = changes.setdefault(fold(standing.name), [])
            of_channel += (
                StatusChange(standing.who, status, *value) for status, value in standing.statuses.items()
            )
        for key in changes.keys() | self._known.channels.keys():
            known = self._known.channels.get(key, SnapshotChannel(key))
            channel = self._state.find_shared(key) or self._state.find_empty_channel(known.name)
            self._merge(channel, [*changes.get(key, ()), *known.settings], known.made_anew)

    def _merge(
        self, channel: Channel, changes: Iterable[StatusChange | SettingChange], made_anew: Stamp
    ) -> None:
        ircd = self._ircd
        merge = ChannelMerge(ircd, channel, self._speaker, ircd.new_id(), ircd.clock(), self._told)
        merge.merge(changes, made_anew)
        if made_anew < channel.made_anew:
            # All local members had left the channel, and the origin does not know that it was reset.
            self._pass_on(channel.name, [channel_line(channel)])
        self._pass_on(channel.name, merge.news)

    def _pass_on(self, name: str, news: Iterable[str]) -> None:
        """Relay news from a snapshot: unlike an event, it came to this host alone."""
        if self._is_snapshot:
            relay_known(self._ircd, name, news)

    def _apply(self, event: Change) -> None:
        self._ircd.apply_change(event, self._ircd.new_id(), self._ircd.clock(), self._told)
