"""The watermarks and the most recent events of an origin: a short absence needs no read of history."""

from collections import deque
from collections.abc import Mapping

from culture.federation.feeds.watermarks import Scope, Watermarks
from culture.federation.numbers import generation_of, raise_levels
from culture.federation.ports import Levels
from culture.protocol.event_record import LINKS_ONLY, EventRecord


class LogTail:
    """The watermarks and the last events of one origin."""

    def __init__(self, most: int, scopes: Mapping[str, Levels] | None = None) -> None:
        """`most`: how many events are kept in memory."""
        self._most = most
        self.committed = Watermarks(scopes)
        # The watermarks with the events of this tick, which are not committed yet.
        self.expected = Watermarks(scopes)
        self._recent: deque[EventRecord] = deque()
        # By generation, the highest number whose event may not be in memory.
        self._older: dict[int, int] = {}
        for levels in (scopes or {}).values():
            raise_levels(self._older, levels)

    def add(self, event: EventRecord, scope: Scope) -> None:
        """Add the next committed event of a feed with this scope."""
        self.committed.advance(event.seq, scope)
        self.expected.advance(event.seq, scope)
        if event.command in LINKS_ONLY:
            return
        self._recent.append(event)
        if len(self._recent) > self._most:
            oldest = self._recent.popleft().seq
            raise_levels(self._older, {generation_of(oldest): oldest})

    def raise_to(self, scope: Scope, levels: Levels) -> None:
        """Record that everything of a scope up to these levels is committed."""
        self.committed.raise_to(scope, levels)
        self.expected.raise_to(scope, levels)

    def lower_to(self, generation: int, number: int) -> None:
        """Lower the watermarks of a generation to a number, because later events were forged."""
        self.committed.lower_to(generation, number)
        self.expected.lower_to(generation, number)

    def give_up(self) -> None:
        """Go back to the committed watermarks."""
        self.expected = self.committed.copy()

    def reaches(self, start: Levels, end: Levels) -> bool:
        """Return whether all events after the start, up to the end, are in memory."""
        return all(
            start.get(generation, -1) >= min(number, self._older.get(generation, -1))
            for generation, number in end.items()
        )

    def between(self, start: Levels, end: Levels) -> list[EventRecord]:
        """Return the events after the start, up to the end, by number; parts of one event are joined."""
        found: dict[int, EventRecord] = {}
        for each in self._recent:
            if start.get(generation := generation_of(each.seq), -1) < each.seq <= end.get(generation, -1):
                part = found.get(each.seq)
                whole = each if part is None else each._replace(channels=part.channels + each.channels)
                found[each.seq] = whole
        return [found[number] for number in sorted(found)]


class LogTails(dict[str, LogTail]):
    """The log tails of all origins, by name."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def add(self, origin: str, scopes: Mapping[str, Levels] | None = None) -> LogTail:
        """Return the log tail of an origin, and create it if needed."""
        if origin not in self:
            self[origin] = LogTail(self._most, scopes)
        return self[origin]
