"""A channel that another host gave another name: it is as if all had heard of it at the moment of its stamp.

Who came in up to then is in the channel of the new name, whether there is one already or not, and who came in
later is in one of the old name. Each host decides it for its own users, and says how it came out; of all
others it shows what their hosts are going to decide, as far as it knows.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from culture.ircd.channel import Channel
from culture.ircd.commands.channel_name import show_rename
from culture.ircd.commands.membership import send_welcome
from culture.ircd.events import ChannelRenamed, Joined, Parted
from culture.ircd.mesh.guests import revive
from culture.ircd.mesh.lines import Set, settings_of
from culture.ircd.mesh.members import hears_of_names, renew_standing, tell_members, tell_settled
from culture.ircd.mesh.merging import Merge
from culture.ircd.stamps import Stamp
from culture.ircd.user import User
from culture.names import fold
from culture.protocol.happening import Happening

if TYPE_CHECKING:
    from culture.ircd.core import Ircd


class TakenRename:
    def __init__(self, ircd: "Ircd", it: Happening, by: User, stamp: Stamp, *, is_replayed: bool) -> None:
        self._ircd = ircd
        self._state = ircd.state
        self._it = it
        self._by = by
        self._stamp = stamp
        self._is_replayed = is_replayed
        self._old, self._new = it.target, it.params[0]

    def carry_out(self) -> None:
        names = {fold(self._old)}
        if fold(self._new) in names:
            self._respell()
            return
        if self._is_replayed and not self._may_concern_us():
            return
        later: list[Set] = []
        movers: list[User] = []
        if (source := self._source()) is not None:
            names.add(source.key)
            later = [each for each in settings_of(source) if each.stamp > self._stamp]
            if movers := self._movers(source):
                target = self._move(source, movers)
                for name in names:
                    self._state.remember_name(name, target, self._stamp)
        self._leave_name(later)
        for name in sorted({*names, fold(self._new)}):
            tell_members(self._ircd, name)
        if movers:
            tell_settled(self._ircd, target, movers)

    def _respell(self) -> None:
        """The same name in another case."""
        channel = self._state.find_shared(self._old)
        if channel is not None and channel.name != self._new:
            self._rename(channel)

    def _may_concern_us(self) -> bool:
        """Not if it was over before anybody came who is here: what a new host is told is mostly past."""
        here = (user for user in self._state.users.values() if not user.server)
        return any(self._state.sign_on_of(user).at_ms <= self._stamp.at_ms for user in here)

    def _source(self) -> Channel | None:
        """Of two who give a channel a name at the same time, the later one does."""
        if (channel := self._state.find_shared(self._old)) is not None:
            return channel
        former = self._state.former_names.find(fold(self._old))
        if former is None or former.until > self._stamp or not self._state.is_open(former.channel):
            return None
        return former.channel if former.channel.key != fold(self._new) else None

    def _movers(self, source: Channel) -> list[User]:
        is_first = source.key == fold(self._old) and not self._is_replayed
        return [
            user
            for user in source.members
            if user.standing_in(source).joined <= self._stamp
            and (is_first and hears_of_names(self._ircd, user) if user.server else not self._is_local_here())
        ]

    def _is_local_here(self) -> bool:
        channel = self._state.find_channel(self._new)
        return channel is not None and channel.is_local

    def _move(self, source: Channel, movers: Sequence[User]) -> Channel:
        is_whole = len(movers) == len(source.members) and self._state.channels.get(source.key) is source
        if is_whole and self._state.find_channel(self._new) is None:
            left = self._state.emptied.take(fold(self._new))
            self._rename(source)
            if left is not None:
                self._merge(source).merge(settings_of(left), left.made_anew)
            for user, held in source.members.items():
                renew_standing(self._ircd, user, source, self._stamp, held)
            return source
        found = self._state.find_shared(self._new) or revive(self._ircd, self._new)
        target = found or Channel(self._new, source.created_at)
        self._merge(target).merge([*settings_of(source)])
        self._state.carry_markers(source.key, target.key)
        for user in movers:
            self._move_one(user, source, target)
        return target

    def _rename(self, channel: Channel) -> None:
        old = channel.name
        event = ChannelRenamed(self._by, channel, self._new, self._it.text)
        self._ircd.bring_about(event, self._it.id, self._it.at)
        show_rename(self._ircd, channel, old, self._it.text)

    def _move_one(self, user: User, source: Channel, target: Channel) -> None:
        """They see it as if they went."""
        ircd, it, held = self._ircd, self._it, source.members[user]
        ircd.bring_about(Parted(user, source, it.text), it.id, it.at)
        if user in target.members:
            return
        self._state.carry_standing(user, source.key, target.key)
        renew_standing(ircd, user, target, self._stamp, held)
        ircd.bring_about(Joined(user, target), it.id, it.at)
        if user.session is not None:
            send_welcome(ircd, user.session, target)

    def _leave_name(self, later: Sequence[Set]) -> None:
        """What was set up to the stamp went with the channel; what was set since belongs to the next one."""
        left = self._state.find_shared(self._old) or self._state.find_left(self._old)
        self._merge(left).merge(later, self._stamp)

    def _merge(self, channel: Channel) -> Merge:
        return Merge(self._ircd, channel, self._by, self._it.id, self._it.at)
