"""What is not called so any more, or not there: other hosts may not know it yet, and still speak of it."""

from collections.abc import Iterable
from typing import Final, Generic, TypeVar

MOST: Final = 1000
"""How many are remembered; the oldest go first."""

Name = TypeVar("Name")
Thing = TypeVar("Thing")


class Chase(Generic[Name, Thing]):
    """Things by a name that they had."""

    def __init__(self) -> None:
        self.is_wanted = False
        """Whether there are other hosts: nothing is remembered otherwise."""
        self._things: dict[Name, Thing] = {}
        self._lasting: dict[Name, Thing] = {}

    def remember(self, key: Name, thing: Thing, *, is_lasting: bool = False) -> None:
        """What is lasting goes only when it is taken, however many others come."""
        if self.is_wanted:
            self.take(key)
            (self._lasting if is_lasting else self._things)[key] = thing
            if len(self._things) > MOST:
                del self._things[next(iter(self._things))]

    def find(self, key: Name) -> Thing | None:
        return self._things.get(key, self._lasting.get(key))

    def values(self) -> Iterable[Thing]:
        return [*self._things.values(), *self._lasting.values()]

    def take(self, key: Name) -> Thing | None:
        return self._things.pop(key, self._lasting.pop(key, None))
