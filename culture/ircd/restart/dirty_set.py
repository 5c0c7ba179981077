"""Dirty set: sessions, channels, accounts and remote users to save again for the next restart."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

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
from culture.ircd.model.user import User
from culture.names import Folded, fold

if TYPE_CHECKING:
    from culture.ircd.model.channel import Channel
    from culture.ircd.model.state import State
    from culture.ircd.session import Session

# Frequent commands that do not change the session of their sender.
COMMANDS_WITHOUT_CHANGES: Final = frozenset({"PRIVMSG", "NOTICE", "TAGMSG", "PING", "PONG"})


class DirtySet:
    """Collects what may have changed. Entries that did not change are not written again."""

    def __init__(self) -> None:
        # Whether sessions are saved at all; otherwise the set stays empty.
        self.is_wanted = False
        self.sessions: dict[Session, None] = {}
        self.channels: dict[Folded, None] = {}
        self.accounts: dict[Folded, None] = {}
        # Users of other hosts, by folded nick.
        self.guests: dict[Folded, None] = {}

    def __bool__(self) -> bool:
        return bool(self.sessions or self.channels or self.accounts or self.guests)

    def clear(self) -> None:
        """Empty the set after everything in it was saved."""
        self.sessions.clear()
        self.channels.clear()
        self.accounts.clear()
        self.guests.clear()

    def touch(self, session: Session | None) -> None:
        """Mark a session as dirty."""
        if self.is_wanted and session is not None:
            self.sessions[session] = None

    def touch_user(self, user: User) -> None:
        """Mark a user of this host or of another as dirty."""
        if not user.server:
            self.touch(user.session)
        elif self.is_wanted:
            self.guests[user.key] = None

    def touch_account(self, account: Folded) -> None:
        """Mark an account as dirty."""
        if self.is_wanted:
            self.accounts[account] = None

    def touch_channel(self, key: Folded) -> None:
        """Mark a channel as dirty."""
        if self.is_wanted:
            self.channels[key] = None

    def note(self, event: Change, state: State) -> None:
        """Mark what an event will change. Call this before the event is applied."""
        if not self.is_wanted:
            return
        match event:
            case Joined(user, channel):
                self.touch_user(user)
                if channel.key not in state.channels:
                    self.channels[channel.key] = None
            case Parted(user, channel) | Kicked(channel=channel, kicked=user):
                self._left(user, [channel])
            case Quit(user):
                self._left(user, user.channels.values())
            case Invited(invited=user):
                self.touch(user.session)
            case Renamed(user, new_nick):
                self.touch_user(user)
                if user.server:
                    self.guests[fold(new_nick)] = None
            case AwayChanged(user) | AccountChanged(user) | RealnameChanged(user) | HostChanged(user):
                self.touch_user(user)
            case ChannelRenamed(channel=channel, new_name=new_name):
                self.channels |= {channel.key: None, fold(new_name): None}
                for user in state.users.values():
                    if user in channel.members or channel in user.invites:
                        self.touch_user(user)
            case TopicChanged(channel=channel):
                self.channels[channel.key] = None
            case ModesChanged(channel=channel, params=params):
                self.channels[channel.key] = None
                for named in filter(None, map(state.find_user, params)):
                    self.touch_user(named)
            case MetadataChanged(target=User() as user) | MarkerMoved(user):
                self._published(user)
            case MetadataChanged(target=channel):
                self.channels[channel.key] = None

    def _left(self, user: User, channels: Iterable[Channel]) -> None:
        self.touch_user(user)
        for channel in channels:
            if len(channel.members) == 1:
                self.channels[channel.key] = None

    def _published(self, user: User) -> None:
        if user.account is None or user.server:
            self.touch_user(user)
        else:
            self.accounts[fold(user.account)] = None
