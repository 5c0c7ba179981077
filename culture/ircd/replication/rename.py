"""Apply a channel rename of another host as if everybody had learned of it at the moment of its stamp.

Users who joined up to the stamp move to the new name, even if a channel of that name exists; users who joined
later stay in a channel of the old name. Each host decides this for its own users and relays the result. For
users of other hosts it shows what their hosts are expected to decide.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from culture.ircd.commands.channels.membership import send_welcome
from culture.ircd.commands.channels.rename import show_rename
from culture.ircd.events import ChannelRenamed, Joined, Parted
from culture.ircd.model.channel import Channel
from culture.ircd.model.user import User
from culture.ircd.replication.member_lists import (
    learns_of_renames,
    relay_channel,
    relay_members,
    restamp_member,
)
from culture.ircd.replication.merge import ChannelMerge
from culture.ircd.replication.remote_users import restore_empty_channel
from culture.ircd.replication.snapshot_lines import SettingChange, settings_of
from culture.ircd.replication.stamps import Stamp
from culture.names import fold
from culture.protocol.event_record import EventRecord

if TYPE_CHECKING:
    from culture.ircd.server import Ircd


class RemoteRename:
    """Applies one RENAME of another host."""

    def __init__(
        self, ircd: "Ircd", record: EventRecord, by: User, stamp: Stamp, *, is_replayed: bool
    ) -> None:
        self._ircd = ircd
        self._state = ircd.state
        self._record = record
        self._by = by
        self._stamp = stamp
        self._is_replayed = is_replayed
        self._old, self._new = record.target, record.params[0]

    def apply(self) -> None:
        """Move the members and settings, and relay the result for local users."""
        names = {fold(self._old)}
        if fold(self._new) in names:
            self._respell()
            return
        if self._is_replayed and not self._may_concern_us():
            return
        later: list[SettingChange] = []
        movers: list[User] = []
        if (source := self._source()) is not None:
            names.add(source.key)
            later = [each for each in settings_of(source) if each.stamp > self._stamp]
            if movers := self._movers(source):
                target = self._move(source, movers)
                for name in names:
                    self._state.add_former_name(name, target, self._stamp)
        self._leave_name(later)
        for name in sorted({*names, fold(self._new)}):
            relay_members(self._ircd, name)
        if movers:
            relay_channel(self._ircd, target, movers)

    def _respell(self) -> None:
        """Change only the case of the name."""
        channel = self._state.find_shared(self._old)
        if channel is not None and channel.name != self._new:
            self._rename(channel)

    def _may_concern_us(self) -> bool:
        """Return whether a local user was connected at that time: most replayed renames are older."""
        here = (user for user in self._state.users.values() if not user.server)
        return any(self._state.sign_on_of(user).at_ms <= self._stamp.at_ms for user in here)

    def _source(self) -> Channel | None:
        """Return the channel to rename. If two hosts renamed it at the same time, the later one wins."""
        if (channel := self._state.find_shared(self._old)) is not None:
            return channel
        former = self._state.former_names.get(fold(self._old))
        if former is None or former.until > self._stamp or not self._state.is_open(former.channel):
            return None
        return former.channel if former.channel.key != fold(self._new) else None

    def _movers(self, source: Channel) -> list[User]:
        is_first = source.key == fold(self._old) and not self._is_replayed
        return [
            user
            for user in source.members
            if user.standing_in(source).joined <= self._stamp
            and (
                is_first and learns_of_renames(self._ircd, user) if user.server else not self._is_local_here()
            )
        ]

    def _is_local_here(self) -> bool:
        channel = self._state.find_channel(self._new)
        return channel is not None and channel.is_local

    def _move(self, source: Channel, movers: Sequence[User]) -> Channel:
        is_whole = len(movers) == len(source.members) and self._state.channels.get(source.key) is source
        if is_whole and self._state.find_channel(self._new) is None:
            left = self._state.empty_channels.pop(fold(self._new))
            self._rename(source)
            if left is not None:
                self._merge(source).merge(settings_of(left), left.made_anew)
            for user, held in source.members.items():
                restamp_member(self._ircd, user, source, self._stamp, held)
            return source
        found = self._state.find_shared(self._new) or restore_empty_channel(self._ircd, self._new)
        target = found or Channel(self._new, source.created_at)
        self._merge(target).merge([*settings_of(source)])
        self._state.carry_markers(source.key, target.key)
        for user in movers:
            self._move_one(user, source, target)
        return target

    def _rename(self, channel: Channel) -> None:
        old = channel.name
        event = ChannelRenamed(self._by, channel, self._new, self._record.text)
        self._ircd.apply_change(event, self._record.id, self._record.at)
        show_rename(self._ircd, channel, old, self._record.text)

    def _move_one(self, user: User, source: Channel, target: Channel) -> None:
        """Move a user, as a PART and a JOIN."""
        ircd, record, held = self._ircd, self._record, source.members[user]
        ircd.apply_change(Parted(user, source, record.text), record.id, record.at)
        if user in target.members:
            return
        self._state.carry_standing(user, source.key, target.key)
        restamp_member(ircd, user, target, self._stamp, held)
        ircd.apply_change(Joined(user, target), record.id, record.at)
        if user.session is not None:
            send_welcome(ircd, user.session, target)

    def _leave_name(self, later: Sequence[SettingChange]) -> None:
        """Reset the old name: settings up to the stamp moved, later ones stay with the old name."""
        left = self._state.find_shared(self._old) or self._state.find_empty_channel(self._old)
        self._merge(left).merge(later, self._stamp)

    def _merge(self, channel: Channel) -> ChannelMerge:
        return ChannelMerge(self._ircd, channel, self._by, self._record.id, self._record.at)
