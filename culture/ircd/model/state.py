"""The state of the network: its users and channels, and how events change them."""

from collections.abc import Iterator
from typing import Any, Final

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
from culture.ircd.model.ban_lists import MASK_LISTS, MaskEntry, MaskList
from culture.ircd.model.channel import FLAGS, STATUSES, Channel, Flag, FormerName, Setting, Status
from culture.ircd.model.metadata import Metadata
from culture.ircd.model.monitor import MonitorLists
from culture.ircd.model.read_markers import ReadMarkers, carry
from culture.ircd.model.redactions import RecentRedactions
from culture.ircd.model.user import SignOn, User, UserMode, toggle
from culture.ircd.model.whowas import Whowas
from culture.ircd.replication.stamps import NEVER, Stamp, Standing
from culture.ircd.replication.tombstones import EmptyChannels, Tombstones
from culture.ircd.restart.dirty_set import DirtySet
from culture.names import Folded, fold
from culture.protocol.authority.senders import SenderKind

# How many channels that a user has left keep their standing, for late events from peers.
MOST_LEFT: Final = 100


class State:
    """All users, channels and account data that this server knows."""

    def __init__(self, host: str) -> None:
        self.host = host
        self.users: dict[Folded, User] = {}
        self.signed_on: dict[SignOn, User] = {}
        # The latest sign-on of a user of this host.
        self._last_sign_on_at = 0.0
        self.channels: dict[Folded, Channel] = {}
        # The channels that are not public.
        self.closed: set[Folded] = set()
        # The secret channels (+s), so that LUSERS need not look at all channels.
        self.secret: set[Folded] = set()
        # The channels with bans, or for registered users only.
        self.guarded: set[Folded] = set()
        # Channels of other hosts that have the name of a local channel (+L), which hides them here.
        self.shadowed: dict[Folded, Channel] = {}
        self.empty_channels = EmptyChannels()
        self.former_names: Tombstones[Folded, FormerName] = Tombstones()
        self.former_nicks: Tombstones[Folded, User] = Tombstones()
        # Channel standings of users whose own host has not introduced them yet.
        self.early_standings: Tombstones[SignOn, dict[Folded, Standing]] = Tombstones()
        # The users of other hosts, by host.
        self.remote_users: dict[str, set[User]] = {}
        self.max_users = 0
        # The highest number of users of this host at one time.
        self.max_local_users = 0
        self.monitors = MonitorLists()
        self.whowas = Whowas()
        # The users with each user mode, so that LUSERS need not count them.
        self.by_mode: dict[UserMode, set[User]] = {mode: set() for mode in UserMode}
        # The users who are agents or bots.
        self.agents: set[User] = set()
        # The users of this host by account; several connections may share one.
        self.by_account: dict[Folded, set[User]] = {}
        self.metadata = Metadata()
        self.markers = ReadMarkers()
        self.redactions = RecentRedactions()
        self.dirty = DirtySet()

    def expect_remote_users(self) -> None:
        """Keep tombstones from now on, because peers may send late events."""
        tombstones: tuple[Tombstones[Any, Any], ...] = (
            self.empty_channels,
            self.former_names,
            self.former_nicks,
            self.early_standings,
        )
        for each in tombstones:
            each.enabled = True

    def find_user(self, nick: str) -> User | None:
        """Return the user with a nick, if there is one."""
        return self.users.get(fold(nick))

    def find_channel(self, name: str) -> Channel | None:
        """Return the channel with a name, as clients of this host see it, if there is one."""
        return self.channels.get(fold(name))

    def neighbours(self, user: User) -> set[User]:
        """Return everyone who shares a channel with a user, and the user."""
        return {user}.union(*(channel.members for channel in user.channels.values()))

    def connections(self, user: User) -> set[User]:
        """Return everyone who is logged in to the same account as a user, and the user."""
        return {user} if user.account is None else {user, *self.by_account.get(fold(user.account), ())}

    @property
    def users_here(self) -> int:
        """Return the number of users of this host."""
        return len(self.users) - sum(map(len, self.remote_users.values()))

    def find_shared(self, name: str) -> Channel | None:
        """Return the channel that other hosts know by a name, which a local channel (+L) may hide here."""
        key = fold(name)
        channel = self.channels.get(key)
        return self.shadowed.get(key) if channel is not None and channel.is_local else channel

    def find_by_recent_name(self, name: str) -> Channel | None:
        """Return the channel that a peer addresses by a name, which the channel may have had before."""
        former = self.former_names.get(fold(name))
        if former is None or fold(name) in self.channels or not self.is_open(former.channel):
            return self.find_shared(name)
        return former.channel

    def is_open(self, channel: Channel) -> bool:
        """Return whether the channel has members."""
        return channel in (self.channels.get(channel.key), self.shadowed.get(channel.key))

    def add_former_name(self, key: Folded, channel: Channel, until: Stamp) -> None:
        """Keep a former name of a channel, for late events from peers."""
        self.former_names.add(key, FormerName(channel, until))

    def shared_channels(self) -> Iterator[Channel]:
        """Return the channels that other hosts know."""
        yield from (channel for channel in self.channels.values() if not channel.is_local)
        yield from self.shadowed.values()

    def make_channel(self, name: str, at: float) -> Channel:
        """Return the channel for the first member to join.

        An empty channel whose members on a lost host may still be in it is used again.
        """
        left = self.empty_channels.get(fold(name))
        if left is not None and left.torn:
            return left
        return Channel(name, at, made_anew=left.latest if left is not None else NEVER)

    def sign_on_of(self, user: User) -> SignOn:
        """Return the identity of a user across all hosts."""
        return SignOn(round(user.signed_on_at * 1000), user.server or self.host)

    def standing_of(self, who: SignOn, name: str) -> Standing:
        """Return the standing in a channel of a user whom their host may not have introduced yet."""
        user = self.signed_on.get(who)
        if user is not None:
            standings = user.standings
        else:
            standings = self.early_standings.get(who) or {}
            self.early_standings.add(who, standings)
        return standings.setdefault(fold(name), Standing())

    def find_empty_channel(self, name: str) -> Channel:
        """Return the tombstone of a channel without members; make one if there is none."""
        left = self.empty_channels.get(fold(name)) or Channel(name, 0.0)
        self.empty_channels.add_channel(left)
        return left

    def find_by_recent_nick(self, nick: str) -> User | None:
        """Return the user who has a nick or had it recently, as other hosts may still call them."""
        key = fold(nick)
        user = self.users.get(key) or self.former_nicks.get(key)
        return user if user is not None and self.users.get(user.key) is user else None

    def add_user(self, user: User) -> None:
        """Add a user who registered here, or whom another host introduced."""
        if not user.server:
            if self.sign_on_of(user) in self.signed_on:
                user.signed_on_at = self._last_sign_on_at + 0.001
            self._last_sign_on_at = max(self._last_sign_on_at, user.signed_on_at)
        self.users[user.key] = user
        self.signed_on[self.sign_on_of(user)] = user
        if user.server:
            self.remote_users.setdefault(user.server, set()).add(user)
        self._log_in(user, user.account)
        self.max_users = max(self.max_users, len(self.users))
        self.max_local_users = max(self.max_local_users, self.users_here)

    def set_user_mode(self, user: User, mode: UserMode, *, present: bool) -> None:
        """Set or remove a user mode."""
        toggle(user.modes, mode, present)
        toggle(self.by_mode[mode], user, present)
        if mode is UserMode.BOT:
            self.set_kind(user, user.kind)

    def set_kind(self, user: User, kind: SenderKind) -> None:
        """Note whether a person or an agent is behind a user."""
        user.kind = kind
        toggle(self.agents, user, user.is_agent)
        for channel in user.channels.values():
            channel.forget_agents()

    def apply(self, event: Change, at: float) -> None:
        """Change the state as an event says. The dirty set is updated first."""
        self.dirty.note(event, self)
        match event:
            case Joined(user, channel):
                self._open(channel)
                channel.add_member(user, user.standing_in(channel).held)
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
                self.whowas.remember(user, at)
                self._log_out(user)
                self.agents.discard(user)
                for mode in user.modes:
                    self.by_mode[mode].discard(user)
                for channel in list(user.channels.values()):
                    self._leave(user, channel)
                self.users.pop(user.key, None)
                self.signed_on.pop(self.sign_on_of(user), None)
                if user.server:
                    self.remote_users[user.server].discard(user)
            case Renamed(user, new_nick):
                if fold(new_nick) != user.key:
                    self.whowas.remember(user, at)
                    self.former_nicks.add(user.key, user)
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
            case Redacted(name=name, msgid=msgid):
                self.redactions.add(name, msgid)

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
        channel.remove_member(user)
        del user.channels[channel.key]
        self._forget_standings(user)
        channel.masks.forget(user)
        if not channel.members:
            self._close(channel)
        elif self.empty_channels.enabled:
            self._date(channel)

    def _forget_standings(self, user: User) -> None:
        """Evict the oldest standings of channels that the user has left."""
        most = MOST_LEFT if self.empty_channels.enabled else 0
        while len(user.standings) > len(user.channels) + most:
            del user.standings[next(key for key in user.standings if key not in user.channels)]

    def _date(self, channel: Channel) -> None:
        """Set the creation time to the oldest that a member knows: two hosts may have created the channel."""
        dates = [user.standing_in(channel).made_at for user in channel.members]
        channel.created_at = min(filter(None, dates), default=channel.created_at)

    def _open(self, channel: Channel) -> None:
        key = channel.key
        self.former_names.pop(key)
        if self.channels.get(key, channel) is not channel:
            self.shadowed[key] = channel
        elif key not in self.channels:
            self.channels[key] = channel
            self.empty_channels.pop(key)
            # A channel that still exists on another host keeps its modes.
            self.classify(key)

    def _close(self, channel: Channel) -> None:
        key = channel.key
        if self.shadowed.get(key) is channel:
            del self.shadowed[key]
            self.empty_channels.add_channel(channel)
            return
        del self.channels[key]
        if not channel.is_local:
            self.empty_channels.add_channel(channel)
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
        """Copy the read markers of a channel to its new name."""
        for account, markers in self.markers.of_accounts.items():
            if carry(markers, old, new):
                self.dirty.touch_account(account)
        for user in self.users.values():
            if carry(user.markers, old, new):
                self.dirty.touch_user(user)

    def carry_standing(self, user: User, old: Folded, new: Folded) -> None:
        """Merge the standing of a user under the old name of a channel into that under the new name."""
        if old != new:
            user.standings.setdefault(new, Standing()).absorb(user.standings.get(old, Standing()))

    def _invite(self, user: User, channel: Channel, *, by_operator: bool) -> None:
        # Drop invitations to channels that are gone: they would keep these in memory.
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
                toggle(channel.members[member], Status(letter), adding)
            elif letter in FLAGS:
                toggle(channel.flags, Flag(letter), adding)
                channel.is_local = Flag.LOCAL in channel.flags
            elif letter in MASK_LISTS:
                entry = MaskEntry(next(params), event.user.mask, at)
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
        """Update the sets of closed, secret and guarded channels, which every history query reads."""
        channel = self.channels.get(key)
        toggle(self.closed, key, channel is not None and not channel.is_public)
        toggle(self.secret, key, channel is not None and Flag.SECRET in channel.flags)
        toggle(self.guarded, key, channel is not None and channel.guard.excludes_anybody)
