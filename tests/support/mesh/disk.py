"""What a simulated host has written down: it survives a crash, and may be replaced by an older copy."""

from collections.abc import Iterable, Sequence

from culture.federation.numbers import generation_of
from culture.federation.ports import DIRECT, ReadRequest
from culture.names import SIGNS, Folded, fold
from culture.protocol.event_record import GENERATION_SHIFT, LINKS_ONLY, EventRecord

ALL = "*"


def places(happening: EventRecord) -> list[str]:
    """Where it happened: channels, or the host that a direct message goes to."""
    if happening.channels:
        return [fold(name) for name, _ in happening.channels]
    if happening.to:
        return [f"{DIRECT}{happening.to}"]
    return [fold(happening.target.lstrip(SIGNS))]


class DuplicateError(AssertionError):
    """The same event was written down twice."""


class Disk:
    """As history does it: rows by origin, number and place."""

    def __init__(self, rows: Iterable[EventRecord] = (), generations: Iterable[int] = ()) -> None:
        self.rows: list[EventRecord] = []
        self.is_full = False
        # The hosts that never give two events the same number; empty: all.
        self.honest: frozenset[str] = frozenset()
        self._seen: set[tuple[str, int, str]] = set()
        self._holdings: dict[str, dict[str, dict[int, int]]] = {}
        for generation in generations:
            self.begin_generation(generation)
        self.append(list(rows))

    def copy(self) -> "Disk":
        copy = Disk((), self._generations())
        copy.honest = self.honest
        copy.append(self.rows)
        return copy

    def begin_generation(self, least: int) -> int:
        generation = max([least, *(each + 1 for each in self._generations())])
        own = self._holdings.setdefault("", {}).setdefault(ALL, {})
        own[generation] = generation << GENERATION_SHIFT
        return generation

    def _generations(self) -> list[int]:
        """That were begun here."""
        return [*self._holdings.get("", {}).get(ALL, {})]

    def append(self, happened: Sequence[EventRecord]) -> None:
        for each in happened:
            if each.command in LINKS_ONLY:
                continue
            for place in places(each):
                key = (each.origin, each.seq, place)
                if key in self._seen and (not self.honest or each.origin in self.honest):
                    raise DuplicateError(f"twice: {each}")
                self._seen.add(key)
            self.rows.append(each)
            scopes = [f"{DIRECT}{each.to}"] if each.to else each.scope.split(",")
            for scope in scopes:
                levels = self._holdings.setdefault(each.origin, {}).setdefault(scope, {})
                generation = generation_of(each.seq)
                levels[generation] = max(levels.get(generation, 0), each.seq)

    def holdings(self) -> dict[str, dict[str, dict[int, int]]]:
        return {
            origin: {scope: dict(levels) for scope, levels in scopes.items()}
            for origin, scopes in self._holdings.items()
        }

    def read(self, request: ReadRequest) -> list[EventRecord]:
        found: dict[int, EventRecord] = {}
        for each in self.rows:
            if each.origin != request.origin or each.is_local or (each.to or None) != request.to:
                continue
            if each.seq <= request.after.get(generation_of(each.seq), -1):
                continue
            part = _in_channels(each, request.channels)
            if part is not None:
                known = found.get(each.seq)
                found[each.seq] = (
                    part if known is None else known._replace(channels=known.channels + part.channels)
                )
        return [found[number] for number in sorted(found)][: request.most]


def _in_channels(happening: EventRecord, channels: frozenset[Folded] | None) -> EventRecord | None:
    if channels is None:
        return happening
    if happening.channels:
        kept = tuple(each for each in happening.channels if fold(each[0]) in channels)
        return happening._replace(channels=kept) if kept else None
    return happening if fold(happening.target.lstrip(SIGNS)) in channels else None
