"""The hosts of the mesh, as each says of itself: its links, and how new that is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from culture.federation.holding import Scope, format_scope, narrower, parse_scope
from culture.names import is_host
from culture.protocol.happening import latest_generation
from culture.protocol.line import Line, MalformedLine, format_line


@dataclass(frozen=True, slots=True)
class HostRecord:
    name: str
    generation: int = 0
    version: int = 0
    neighbours: Mapping[str, Scope] = field(default_factory=dict)
    """The hosts that it is linked to, and what each link is limited to."""
    description: str = ""

    @property
    def age(self) -> tuple[int, int]:
        """The greater, the newer."""
        return self.generation, self.version


def format_record(record: HostRecord) -> str:
    neighbours = [
        name if scope is None else f"{name}={format_scope(scope)}"
        for name, scope in sorted(record.neighbours.items())
    ]
    head = (record.name, str(record.generation), str(record.version))
    return format_line("HOST", *head, *neighbours, record.description, trailing=True)


def parse_record(line: Line, now: float) -> HostRecord:
    """Raises MalformedLine."""
    if len(line.params) < 4 or not is_host(line.params[0]):
        raise MalformedLine("no HOST")
    name, generation, version, *neighbours, description = line.params
    if not (generation.isdecimal() and version.isdecimal()):
        raise MalformedLine("no HOST")
    if int(generation) > latest_generation(now):
        # Whose name it is begins the one after it.
        raise MalformedLine(f"the generation of '{name}' is years ahead of the clock")
    links: dict[str, Scope] = {}
    for neighbour in neighbours:
        other, limit, channels = neighbour.partition("=")
        links[other] = parse_scope(channels) if limit else None
    return HostRecord(name, int(generation), int(version), links, description)


class Route(NamedTuple):
    """The way to another host."""

    path: tuple[str, ...]
    """All hosts on it, without this one; the last is the other host itself."""
    scope: Scope
    """What can come and go on it."""

    @property
    def next_hop(self) -> str:
        return self.path[0]

    @property
    def _rank(self) -> tuple[bool, int, int, tuple[str, ...]]:
        """Of two ways the lower: the wider, then the shorter, then by name, so that all hosts agree."""
        return self.scope is not None, -len(self.scope or ()), len(self.path), self.path

    def is_better_than(self, other: "Route") -> bool:
        return self._rank < other._rank


class Hosts:
    """What is known of all hosts. A link is one where both ends say so."""

    def __init__(self, own: HostRecord) -> None:
        self.own_name = own.name
        self.records: dict[str, HostRecord] = {own.name: own}
        self.routes: dict[str, Route] = {}
        """To every host that can be reached."""

    @property
    def own(self) -> HostRecord:
        return self.records[self.own_name]

    def learn(self, record: HostRecord) -> bool:
        """Whether this is newer than what was known."""
        known = self.records.get(record.name)
        if known is not None and known.age >= record.age:
            return False
        self.records[record.name] = record
        return True

    def link(self, one: str, other: str) -> tuple[bool, Scope]:
        """Whether two hosts are linked, and what the link is limited to."""
        here, there = self.records.get(one), self.records.get(other)
        if here is None or there is None or other not in here.neighbours or one not in there.neighbours:
            return False, None
        return True, narrower(here.neighbours[other], there.neighbours[one])

    def find_routes(self) -> None:
        """The best way to each host, from here outwards until nothing is better any more."""
        routes: dict[str, Route] = {}
        fresh = {self.own_name: Route((), None)}
        while fresh:
            further: dict[str, Route] = {}
            for name, route in fresh.items():
                for other, way in self._steps(name, route):
                    best = further.get(other) or routes.get(other)
                    if best is None or way.is_better_than(best):
                        further[other] = way
            routes |= further
            fresh = further
        self.routes = routes

    def _steps(self, name: str, route: Route) -> list[tuple[str, Route]]:
        steps = []
        for other in self.records[name].neighbours:
            is_linked, scope = self.link(name, other)
            if is_linked and other != self.own_name and other not in route.path:
                steps.append((other, Route((*route.path, other), narrower(route.scope, scope))))
        return steps

    def break_between(self, path: tuple[str, ...]) -> tuple[str, str]:
        """Where a way that was there is interrupted now, seen from here."""
        for one, other in zip((self.own_name, *path), path, strict=False):
            if not self.link(one, other)[0]:
                return one, other
        return self.own_name, path[-1]
