"""What is held of one origin, the last of it in memory: who was away for a moment costs no reading."""

from collections import deque
from collections.abc import Mapping

from culture.federation.holding import Holding, Scope
from culture.federation.numbers import generation_of, raise_levels
from culture.federation.ports import Levels
from culture.protocol.happening import LINKS_ONLY, Happening


class Shelf:
    def __init__(self, most: int, scopes: Mapping[str, Levels] | None = None) -> None:
        """`most`: how many events are in memory."""
        self._most = most
        self.holding = Holding(scopes)
        self.expected = Holding(scopes)
        """With what came in this turn and is not committed yet."""
        self._recent: deque[Happening] = deque()
        self._older: dict[int, int] = {}
        """Of each generation, up to where events are not in memory."""
        for levels in (scopes or {}).values():
            raise_levels(self._older, levels)

    def add(self, happening: Happening, scope: Scope) -> None:
        """The next event of a feed with this scope, which was committed."""
        self.holding.took(happening.seq, scope)
        self.expected.took(happening.seq, scope)
        if happening.command in LINKS_ONLY:
            return
        self._recent.append(happening)
        if len(self._recent) > self._most:
            oldest = self._recent.popleft().seq
            raise_levels(self._older, {generation_of(oldest): oldest})

    def raise_to(self, scope: Scope, levels: Levels) -> None:
        """Everything of a scope up to there is here, and committed."""
        self.holding.raise_to(scope, levels)
        self.expected.raise_to(scope, levels)

    def give_up(self) -> None:
        """What was expected does not come."""
        self.expected = self.holding.copy()

    def reaches(self, start: Levels, end: Levels) -> bool:
        """Whether all that is behind the start, up to the end, is in memory."""
        return all(
            start.get(generation, -1) >= min(number, self._older.get(generation, -1))
            for generation, number in end.items()
        )

    def between(self, start: Levels, end: Levels) -> list[Happening]:
        """In the order of numbers. What was seen in several channels may have come in parts."""
        found: dict[int, Happening] = {}
        for each in self._recent:
            if start.get(generation := generation_of(each.seq), -1) < each.seq <= end.get(generation, -1):
                part = found.get(each.seq)
                whole = each if part is None else each._replace(channels=part.channels + each.channels)
                found[each.seq] = whole
        return [found[number] for number in sorted(found)]


class Shelves(dict[str, Shelf]):
    """Of all origins."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def add(self, origin: str, scopes: Mapping[str, Levels] | None = None) -> Shelf:
        """The shelf of an origin, a new one if need be."""
        if origin not in self:
            self[origin] = Shelf(self._most, scopes)
        return self[origin]
