"""Who wants to know when a nick comes and goes (IRCv3 monitor)."""

from collections.abc import Collection, Iterable

from culture.ircd.user import User
from culture.names import Folded, fold


class Watchers:
    def __init__(self) -> None:
        self._lists: dict[User, dict[Folded, str]] = {}
        """What each user watches, in the spelling they gave."""
        self._of: dict[Folded, dict[User, None]] = {}

    def of(self, nick: Folded) -> Collection[User]:
        return self._of.get(nick, ())

    @property
    def everyone(self) -> Collection[User]:
        """Whoever watches a nick."""
        return self._lists.keys()

    def watched_by(self, user: User) -> list[str]:
        return list(self._lists.get(user, {}).values())

    def has(self, user: User, nick: str) -> bool:
        """Whether a nick is on somebody's list."""
        return fold(nick) in self._lists.get(user, ())

    def add(self, user: User, nick: str, most: int) -> bool:
        """Whether there was room for one that is not on the list (without end if `most` is 0)."""
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
