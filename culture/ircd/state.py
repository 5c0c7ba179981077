"""Who is on the network and in which channel. Events are the only thing that changes it."""

from typing import TypeVar

from culture.ircd.channel import STATUSES, Channel, Flag, Status
from culture.ircd.events import (
    AccountChanged,
    AwayChanged,
    Event,
    Invited,
    Joined,
    Kicked,
    ModesChanged,
    Parted,
    Quit,
    RealnameChanged,
    Renamed,
    Said,
    TopicChanged,
)
from culture.ircd.user import User
from culture.names import Folded, fold

Letter = TypeVar("Letter", Status, Flag)


class State:
    def __init__(self) -> None:
        self.users: dict[Folded, User] = {}
        self.channels: dict[Folded, Channel] = {}
        self.most_users = 0

    def find_user(self, nick: str) -> User | None:
        return self.users.get(fold(nick))

    def find_channel(self, name: str) -> Channel | None:
        return self.channels.get(fold(name))

    def neighbours(self, user: User) -> set[User]:
        """Everyone who shares a channel with a user, and the user."""
        return {user}.union(*(channel.members for channel in user.channels.values()))

    def add_user(self, user: User) -> None:
        self.users[user.key] = user
        self.most_users = max(self.most_users, len(self.users))

    def apply(self, event: Event, at: float) -> None:
        match event:
            case Said(sender):
                sender.spoke_at = at
            case Joined(user, channel):
                first = channel.key not in self.channels
                self.channels[channel.key] = channel
                channel.members[user] = {Status.OPERATOR} if first else set()
                user.channels[channel.key] = channel
            case Parted(user, channel):
                self._leave(user, channel)
            case Kicked(channel=channel, kicked=kicked):
                self._leave(kicked, channel)
            case Invited():
                pass
            case AwayChanged(user, away):
                user.away = away
            case AccountChanged(user, account):
                user.account = account
            case RealnameChanged(user, realname):
                user.realname = realname
            case Quit(user):
                for channel in list(user.channels.values()):
                    self._leave(user, channel)
                self.users.pop(user.key, None)
            case Renamed(user, new_nick):
                self.users.pop(user.key, None)
                user.nick = new_nick
                self.users[user.key] = user
            case TopicChanged(channel=channel, topic=topic):
                channel.topic = topic
            case ModesChanged():
                self._change_modes(event)

    def _leave(self, user: User, channel: Channel) -> None:
        del channel.members[user]
        del user.channels[channel.key]
        if not channel.members:
            del self.channels[channel.key]

    def _change_modes(self, event: ModesChanged) -> None:
        params = iter(event.params)
        adding = True
        for letter in event.changes:
            if letter in "+-":
                adding = letter == "+"
            elif letter in STATUSES:
                member = self.users[fold(next(params))]
                _put(event.channel.members[member], Status(letter), adding)
            else:
                _put(event.channel.flags, Flag(letter), adding)


def _put(held: set[Letter], item: Letter, present: bool) -> None:
    if present:
        held.add(item)
    else:
        held.discard(item)
