"""Who is on the network and in which channel. Events are the only thing that changes it."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple, TypeVar

from culture.ircd.bans import MASK_LISTS, Entry, MaskList
from culture.ircd.changes import Changes
from culture.ircd.channel import FLAGS, STATUSES, Channel, Flag, Setting, Status
from culture.ircd.chase import Chase
from culture.ircd.emptied import Emptied
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
    Redacted,
    Renamed,
    TopicChanged,
)
from culture.ircd.markers import Markers, carry
from culture.ircd.metadata import Metadata
from culture.ircd.past import Past
from culture.ircd.skills import Remembered
from culture.ircd.stamps import NEVER, Stamp, Standing
from culture.ircd.user import SignOn, User, UserMode
from culture.ircd.watchers import Watchers
from culture.names import Folded, fold

MOST_LEFT: Final = 100
"""Of how many channels that somebody has left it is known what they were there."""

MOST_REDACTED: Final = 1000
"""How many messages are known to be taken back; the oldest were written down long ago."""

Item = TypeVar("Item")


class FormerName(NamedTuple):
    channel: Channel
    until: Stamp
    """When it got another."""


class State:
    def __init__(self, host: str) -> None:
        self.host = host
        self.users: dict[Folded, User] = {}
        self.signed_on: dict[SignOn, User] = {}
        self._last_sign_on_at = 0.0
        """Of those here."""
        self.channels: dict[Folded, Channel] = {}
        self.closed: set[Folded] = set()
        """The channels that are not public."""
        self.guarded: set[Folded] = set()
        """Those that keep somebody out by what they are."""
        self.shadowed: dict[Folded, Channel] = {}
        """Channels of other hosts that are called as a local one here, which nobody here can see."""
        self.emptied = Emptied()
        self.former_names: Chase[Folded, FormerName] = Chase()
        self.former_nicks: Chase[Folded, User] = Chase()
        self.early: Chase[SignOn, dict[Folded, Standing]] = Chase()
        """What was said of users before their own host told of them."""
        self.guests: dict[str, set[User]] = {}
        """Who is on other hosts, by their names."""
        self.most_users = 0
        self.most_here = 0
        """The most at one time that were connected to this host."""
        self.watchers = Watchers()
        self.past = Past()
        self.by_mode: dict[UserMode, set[User]] = {mode: set() for mode in UserMode}
        """Who has which user mode, so that nobody has to count."""
        self.by_account: dict[Folded, set[User]] = {}
        """Who here is logged in to which account: one person may be here several times."""
        self.metadata = Metadata()
        self.markers = Markers()
        self.redacted: dict[str, None] = {}
        """The msgids of messages that were taken back lately: who looks for them may still find them."""
        self.changes = Changes()

    def expect_guests(self) -> None:
        """There are other hosts."""
        chases: tuple[Chase[Any, Any], ...] = (self.emptied, self.former_names, self.former_nicks, self.early)
        for chase in chases:
            chase.is_wanted = True

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

    @property
    def users_here(self) -> int:
        """How many are connected to this host."""
        return len(self.users) - sum(map(len, self.guests.values()))

    def find_shared(self, name: str) -> Channel | None:
        """A channel as other hosts know it."""
        key = fold(name)
        channel = self.channels.get(key)
        return self.shadowed.get(key) if channel is not None and channel.is_local else channel

    def find_addressed(self, name: str) -> Channel | None:
        """A channel that is spoken to where it may still have the name that it had before."""
        former = self.former_names.find(fold(name))
        if former is None or fold(name) in self.channels or not self.is_open(former.channel):
            return self.find_shared(name)
        return former.channel

    def is_open(self, channel: Channel) -> bool:
        return channel in (self.channels.get(channel.key), self.shadowed.get(channel.key))

    def remember_name(self, key: Folded, channel: Channel, until: Stamp) -> None:
        self.former_names.remember(key, FormerName(channel, until))

    def shared_channels(self) -> Iterator[Channel]:
        """As other hosts know them."""
        yield from (channel for channel in self.channels.values() if not channel.is_local)
        yield from self.shadowed.values()

    def make_channel(self, name: str, at: float) -> Channel:
        """For who is about to join it, if they may. Those who were lost may be in it: then it goes on."""
        left = self.emptied.find(fold(name))
        if left is not None and left.torn:
            return left
        return Channel(name, at, made_anew=left.latest if left is not None else NEVER)

    def sign_on_of(self, user: User) -> SignOn:
        return SignOn(round(user.signed_on_at * 1000), user.server or self.host)

    def standing_of(self, who: SignOn, name: str) -> Standing:
        """In a channel, of somebody who may not be known yet."""
        user = self.signed_on.get(who)
        if user is not None:
            standings = user.standings
        else:
            standings = self.early.find(who) or {}
            self.early.remember(who, standings)
        return standings.setdefault(fold(name), Standing())

    def tear(self, host: str) -> None:
        """A host is lost: its users are about to leave channels that they may still be in."""
        for channel in {channel for user in self.guests.get(host, ()) for channel in user.channels.values()}:
            channel.torn |= {host}
            self.changes.touch_channel(channel.key)

    def mend(self, host: str) -> None:
        """A host is back."""
        for key in self.emptied.torn():
            self.changes.touch_channel(key)
        for channel in [*self.channels.values(), *self.shadowed.values()]:
            channel.torn -= {host}
        self.emptied.mend(host)

    def find_left(self, name: str) -> Channel:
        """A channel that everybody has left, or that nobody is known to have come to yet."""
        left = self.emptied.find(fold(name)) or Channel(name, 0.0)
        self.emptied.put(left)
        return left

    def find_named(self, nick: str) -> User | None:
        """A user as other hosts know them, also by the nick that they had before."""
        key = fold(nick)
        user = self.users.get(key) or self.former_nicks.find(key)
        return user if user is not None and self.users.get(user.key) is user else None

    def add_user(self, user: User) -> None:
        if not user.server:
            if self.sign_on_of(user) in self.signed_on:
                user.signed_on_at = self._last_sign_on_at + 0.001
            self._last_sign_on_at = max(self._last_sign_on_at, user.signed_on_at)
        self.users[user.key] = user
        self.signed_on[self.sign_on_of(user)] = user
        if user.server:
            self.guests.setdefault(user.server, set()).add(user)
        self._log_in(user, user.account)
        self.most_users = max(self.most_users, len(self.users))
        self.most_here = max(self.most_here, self.users_here)

    def set_user_mode(self, user: User, mode: UserMode, *, present: bool) -> None:
        _put(user.modes, mode, present)
        _put(self.by_mode[mode], user, present)

    def apply(self, event: Change, at: float) -> None:
        self.changes.note(event, self)
        match event:
            case Joined(user, channel):
                self._open(channel)
                channel.let_in(user, user.standing_in(channel).held)
                user.channels[channel.key] = channel
                made_at = user.standing_in(channel).made_at
                channel.created_at = (
                    made_at if len(channel.members) == 1 else min(channel.created_at, made_at)
                )
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
                self.signed_on.pop(self.sign_on_of(user), None)
                if user.server:
                    self.guests[user.server].discard(user)
            case Renamed(user, new_nick):
                if fold(new_nick) != user.key:
                    self.past.remember(user, at)
                    self.former_nicks.remember(user.key, user)
                    user.named_at = at
                self.users.pop(user.key, None)
                user.identify(nick=new_nick)
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
            case Redacted(msgid=msgid):
                self.redacted[msgid] = None
                if len(self.redacted) > MOST_REDACTED:
                    del self.redacted[next(iter(self.redacted))]

    def _log_in(self, user: User, account: str | None) -> None:
        self._log_out(user)
        user.account = account
        if account is not None and not user.server:
            self.by_account.setdefault(fold(account), set()).add(user)

    def _log_out(self, user: User) -> None:
        if user.account is not None and (others := self.by_account.get(fold(user.account))):
            others.discard(user)
            if not others:
                del self.by_account[fold(user.account)]

    def _leave(self, user: User, channel: Channel) -> None:
        channel.let_out(user)
        del user.channels[channel.key]
        self._forget_standings(user)
        channel.masks.forget(user)
        if not channel.members:
            self._close(channel)
        elif self.emptied.is_wanted:
            self._date(channel)

    def _forget_standings(self, user: User) -> None:
        """Where somebody was matters to other hosts, for a while."""
        most = MOST_LEFT if self.emptied.is_wanted else 0
        while len(user.standings) > len(user.channels) + most:
            del user.standings[next(key for key in user.standings if key not in user.channels)]

    def _date(self, channel: Channel) -> None:
        """It is as old as the oldest that somebody in it came to: two hosts may have made it at a time."""
        dates = [user.standing_in(channel).made_at for user in channel.members]
        channel.created_at = min(filter(None, dates), default=channel.created_at)

    def _open(self, channel: Channel) -> None:
        key = channel.key
        self.former_names.take(key)
        if self.channels.get(key, channel) is not channel:
            self.shadowed[key] = channel
        elif key not in self.channels:
            self.channels[key] = channel
            self.emptied.take(key)
            # One that goes on somewhere else is as it was.
            self.classify(key)

    def _close(self, channel: Channel) -> None:
        key = channel.key
        if self.shadowed.get(key) is channel:
            del self.shadowed[key]
            self.emptied.put(channel)
            return
        del self.channels[key]
        if not channel.is_local:
            self.emptied.put(channel)
        elif (shadowed := self.shadowed.pop(key, None)) is not None:
            self.channels[key] = shadowed
        self.classify(key)

    def _rename(self, channel: Channel, new_name: str, at: float) -> None:
        old = channel.key
        del self.channels[old]
        self.classify(old)
        if (shadowed := self.shadowed.pop(old, None)) is not None:
            self._open(shadowed)
        channel.name, channel.renamed_at = new_name, at
        self._open(channel)
        self.carry_markers(old, channel.key)
        for member in channel.members:
            del member.channels[old]
            member.channels[channel.key] = channel
            self.carry_standing(member, old, channel.key)

    def carry_markers(self, old: Folded, new: Folded) -> None:
        """What was read of one channel was read of another."""
        for account, markers in self.markers.of_accounts.items():
            if carry(markers, old, new):
                self.changes.touch_account(account)
        for user in self.users.values():
            if carry(user.markers, old, new):
                self.changes.touch_user(user)

    def carry_standing(self, user: User, old: Folded, new: Folded) -> None:
        """What somebody is in one channel they are in another."""
        if old != new:
            user.standings.setdefault(new, Standing()).absorb(user.standings.get(old, Standing()))

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
                channel.is_local = Flag.LOCAL in channel.flags
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
        self.classify(channel.key)

    def classify(self, key: Folded) -> None:
        """Who may read what was said in a channel is asked often, and of all channels at a time."""
        channel = self.channels.get(key)
        _put(self.closed, key, channel is not None and not channel.is_public)
        _put(self.guarded, key, channel is not None and channel.guard.keeps_anybody_out)


def _put(held: set[Item], item: Item, present: bool) -> None:
    if present:
        held.add(item)
    else:
        held.discard(item)
