"""What is no longer as it was when it was last written down, for whoever keeps it over a restart."""

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
from culture.ircd.user import User
from culture.names import Folded, fold

if TYPE_CHECKING:
    from culture.ircd.channel import Channel
    from culture.ircd.session import Session
    from culture.ircd.state import State

LEAVES_ALL_AS_IT_WAS: Final = frozenset({"PRIVMSG", "NOTICE", "TAGMSG", "PING", "PONG"})
"""The commands that change nothing about who sends them, and are sent most."""


class Changes:
    """Too much may be named here: what turns out the same is not written again."""

    def __init__(self) -> None:
        self.is_wanted = False
        """Whether anybody keeps anything: nothing is named here otherwise."""
        self.sessions: dict[Session, None] = {}
        self.channels: dict[Folded, None] = {}
        self.accounts: dict[Folded, None] = {}
        self.guests: dict[Folded, None] = {}
        """Users of other hosts, by their nicks."""

    def __bool__(self) -> bool:
        return bool(self.sessions or self.channels or self.accounts or self.guests)

    def clear(self) -> None:
        self.sessions.clear()
        self.channels.clear()
        self.accounts.clear()
        self.guests.clear()

    def touch(self, session: Session | None) -> None:
        if self.is_wanted and session is not None:
            self.sessions[session] = None

    def touch_user(self, user: User) -> None:
        if not user.server:
            self.touch(user.session)
        elif self.is_wanted:
            self.guests[user.key] = None

    def touch_account(self, account: Folded) -> None:
        if self.is_wanted:
            self.accounts[account] = None

    def touch_channel(self, key: Folded) -> None:
        if self.is_wanted:
            self.channels[key] = None

    def note(self, event: Change, state: State) -> None:
        """Before the event is applied: who leaves, and what vanishes with them, is still there."""
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
