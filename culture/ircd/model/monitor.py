"""The MONITOR lists of users (IRCv3 monitor)."""

from collections.abc import Collection, Iterable

from culture.ircd.model.user import User
from culture.names import Folded, fold


class MonitorLists:
    """Maps users to the nicks they monitor, and nicks to the users who monitor them."""

    def __init__(self) -> None:
        # The nicks that each user monitors, in the spelling they gave.
        self._lists: dict[User, dict[Folded, str]] = {}
        self._of: dict[Folded, dict[User, None]] = {}

    def of(self, nick: Folded) -> Collection[User]:
        """Return the users who monitor a nick."""
        return self._of.get(nick, ())

    @property
    def everyone(self) -> Collection[User]:
        """Return all users who monitor a nick."""
        return self._lists.keys()

    def watched_by(self, user: User) -> list[str]:
        """Return the nicks that a user monitors."""
        return list(self._lists.get(user, {}).values())

    def has(self, user: User, nick: str) -> bool:
        """Return whether a user monitors a nick."""
        return fold(nick) in self._lists.get(user, ())

    def add(self, user: User, nick: str, most: int) -> bool:
        """Add a nick and return whether the list had room; `most` is the limit, 0 for none."""
        watched = self._lists.get(user, {})
        key = fold(nick)
        if 0 < most <= len(watched):
            return False
        self._lists.setdefault(user, watched)[key] = nick
        self._of.setdefault(key, {})[user] = None
        return True

    def remove(self, user: User, nicks: Iterable[str]) -> None:
        watched = self._lists.get(user, {})
        for key in map(fold, nicks):
            if watched.pop(key, None) is not None:
                del self._of[key][user]
                if not self._of[key]:
                    del self._of[key]
        if not watched:
            self._lists.pop(user, None)

    def forget(self, user: User) -> None:
        self.remove(user, self.watched_by(user))
