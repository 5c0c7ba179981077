"""Who is on the network and in which channel. Events are the only thing that changes it."""

from typing import TypeVar

from culture.ircd.bans import MASK_LISTS, Entry, MaskList
from culture.ircd.changes import Changes
from culture.ircd.channel import FLAGS, STATUSES, Channel, Flag, Setting, Status
from culture.ircd.events import (
    AccountChanged,
    AwayChanged,
    Change,
    ChannelRenamed,
    HostChanged,
    Invited,
    Joined,
    Kicked,
    MarkerMoved,
    MetadataChanged,
    ModesChanged,
    Parted,
    Quit,
    RealnameChanged,
    Renamed,
    TopicChanged,
)
from culture.ircd.markers import Markers
from culture.ircd.metadata import Metadata
from culture.ircd.past import Past
from culture.ircd.skills import Remembered
from culture.ircd.user import User, UserMode
from culture.ircd.watchers import Watchers
from culture.names import Folded, fold

Item = TypeVar("Item")


class State:
    def __init__(self) -> None:
        self.users: dict[Folded, User] = {}
        self.channels: dict[Folded, Channel] = {}
        self.closed: set[Folded] = set()
        """The channels that are not public."""
        self.most_users = 0
        self.watchers = Watchers()
        self.past = Past()
        self.by_mode: dict[UserMode, set[User]] = {mode: set() for mode in UserMode}
        """Who has which user mode, so that nobody has to count."""
        self.by_account: dict[Folded, set[User]] = {}
        """Who is logged in to which account: one person may be here several times."""
        self.metadata = Metadata()
        self.markers = Markers()
        self.changes = Changes()

    def remember(self, known: Remembered) -> None:
        """What accounts read and published before the server started."""
        for account, markers in known.markers.items():
            of_one = self.markers.of_accounts.setdefault(account, {})
            of_one.update((fold(target), timestamp) for target, timestamp in markers.items())
        for account, values in known.metadata.items():
            self.metadata.of_accounts.setdefault(account, {}).update(values)

    def find_user(self, nick: str) -> User | None:
        return self.users.get(fold(nick))

    def find_channel(self, name: str) -> Channel | None:
        return self.channels.get(fold(name))

    def neighbours(self, user: User) -> set[User]:
        """Everyone who shares a channel with a user, and the user."""
        return {user}.union(*(channel.members for channel in user.channels.values()))

    def connections(self, user: User) -> set[User]:
        """Everyone who is logged in to the same account as a user, and the user."""
        return {user} if user.account is None else {user, *self.by_account.get(fold(user.account), ())}

    def add_user(self, user: User) -> None:
        self.users[user.key] = user
        self._log_in(user, user.account)
        self.most_users = max(self.most_users, len(self.users))

    def set_user_mode(self, user: User, mode: UserMode, *, present: bool) -> None:
        _put(user.modes, mode, present)
        _put(self.by_mode[mode], user, present)

    def apply(self, event: Change, at: float) -> None:
        self.changes.note(event, self)
        match event:
            case Joined(user, channel):
                first = channel.key not in self.channels
                self.channels[channel.key] = channel
                channel.members[user] = {Status.OPERATOR} if first else set()
                user.channels[channel.key] = channel
                user.invites.pop(channel, None)
            case Parted(user, channel):
                self._leave(user, channel)
            case Kicked(channel=channel, kicked=kicked):
                self._leave(kicked, channel)
            case Invited(user, channel, invited):
                self._invite(invited, channel, by_operator=channel.may_moderate(user))
            case AwayChanged(user, away):
                user.away = away
            case AccountChanged(user, account):
                self._log_in(user, account)
            case RealnameChanged(user, realname):
                user.realname = realname
            case Quit(user):
                self.past.remember(user, at)
                self._log_out(user)
                for mode in user.modes:
                    self.by_mode[mode].discard(user)
                for channel in list(user.channels.values()):
                    self._leave(user, channel)
                self.users.pop(user.key, None)
            case Renamed(user, new_nick):
                if fold(new_nick) != user.key:
                    self.past.remember(user, at)
                self.users.pop(user.key, None)
                user.identify(nick=new_nick)
                user.named_at = at
                self.users[user.key] = user
            case HostChanged(user, username, host):
                user.identify(username=username, host=host)
            case ChannelRenamed(channel=channel, new_name=new_name):
                self._rename(channel, new_name, at)
            case TopicChanged(channel=channel, topic=topic):
                channel.topic = topic
            case ModesChanged():
                self._change_modes(event, at)
            case MetadataChanged(target=target, key=key, value=value):
                self.metadata.change(target, key, value)
            case MarkerMoved(user, name, timestamp):
                self.markers.move(user, name, timestamp)

    def _log_in(self, user: User, account: str | None) -> None:
        self._log_out(user)
        user.account = account
        if account is not None:
            self.by_account.setdefault(fold(account), set()).add(user)

    def _log_out(self, user: User) -> None:
        if user.account is not None and (others := self.by_account.get(fold(user.account))):
            others.discard(user)
            if not others:
                del self.by_account[fold(user.account)]

    def _leave(self, user: User, channel: Channel) -> None:
        del channel.members[user]
        del user.channels[channel.key]
        channel.masks.forget(user)
        if not channel.members:
            del self.channels[channel.key]
            self.closed.discard(channel.key)

    def _rename(self, channel: Channel, new_name: str, at: float) -> None:
        del self.channels[channel.key]
        for member in channel.members:
            del member.channels[channel.key]
        self.closed.discard(channel.key)
        channel.name, channel.renamed_at = new_name, at
        self.channels[channel.key] = channel
        for member in channel.members:
            member.channels[channel.key] = channel
        _put(self.closed, channel.key, not channel.is_public)

    def _invite(self, user: User, channel: Channel, *, by_operator: bool) -> None:
        # Without those to channels that are gone: they would keep them from being forgotten.
        standing = {to: by for to, by in user.invites.items() if self.channels.get(to.key) is to}
        user.invites = {**standing, channel: by_operator or standing.get(channel, False)}

    def _change_modes(self, event: ModesChanged, at: float) -> None:
        channel = event.channel
        params = iter(event.params)
        adding = True
        for letter in event.changes:
            if letter in "+-":
                adding = letter == "+"
            elif letter in STATUSES:
                member = self.users[fold(next(params))]
                _put(channel.members[member], Status(letter), adding)
            elif letter in FLAGS:
                _put(channel.flags, Flag(letter), adding)
            elif letter in MASK_LISTS:
                entry = Entry(next(params), event.user.mask, at)
                change = channel.masks.add if adding else channel.masks.remove
                change(MaskList(letter), entry)
            elif adding:
                channel.settings[Setting(letter)] = next(params)
            else:
                if letter == Setting.KEY:
                    next(params)
                del channel.settings[Setting(letter)]
        _put(self.closed, channel.key, not channel.is_public)


def _put(held: set[Item], item: Item, present: bool) -> None:
    if present:
        held.add(item)
    else:
        held.discard(item)
