"""The graph of hosts and the routes in it, from the record that each host publishes of itself."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from culture.federation.feeds.watermarks import Scope, checked_scope, format_scope, intersect_scopes
from culture.names import Folded, host_key
from culture.protocol.event_record import latest_generation
from culture.protocol.line import Line, MalformedLine, format_line
from culture.protocol.peers import validate

# Precedes the name of a host in a record that is configured as a neighbour but not linked now.
UNLINKED_SIGN = "-"


@dataclass(frozen=True, slots=True)
class HostRecord:
    """What a host says of itself. Generation and version order the records of one host."""

    name: str
    generation: int = 0
    version: int = 0
    # The hosts that it is linked to, with the scope of each link.
    neighbours: Mapping[str, Scope] = field(default_factory=dict)
    description: str = ""
    # The hosts that it is configured to link to, and is not linked to now.
    unlinked: frozenset[str] = frozenset()

    @property
    def age(self) -> tuple[int, int]:
        """Return a sort key: the record with the greater one is newer."""
        return self.generation, self.version

    @property
    def possible(self) -> frozenset[str]:
        """Return all hosts that it is or may be linked to, as it says itself."""
        return self.unlinked | self.neighbours.keys()


def format_record(record: HostRecord) -> str:
    """Return a record as a HOST line."""
    neighbours = [
        name if scope is None else f"{name}={format_scope(scope)}"
        for name, scope in sorted(record.neighbours.items())
    ]
    unlinked = [f"{UNLINKED_SIGN}{name}" for name in sorted(record.unlinked - record.neighbours.keys())]
    head = (record.name, str(record.generation), str(record.version))
    return format_line("HOST", *head, *neighbours, *unlinked, record.description, trailing=True)


def parse_record(line: Line, now: float) -> HostRecord:
    """Parse a HOST line. Raises MalformedLine."""
    if len(line.params) < 4:
        raise MalformedLine("HOST with too few parameters")
    name, generation, version, *words, description = line.params
    validate.host_name(name)
    validate.at_most(words, validate.NEIGHBOURS, "neighbours of a host")
    started = validate.generation(generation)
    if started > latest_generation(now):
        # The host of that name would have to begin a generation even further ahead.
        raise MalformedLine(f"the generation of '{name}' is years ahead of the clock")
    links: dict[str, Scope] = {}
    unlinked: set[str] = set()
    for word in words:
        if word.startswith(UNLINKED_SIGN):
            unlinked.add(validate.host_name(word.removeprefix(UNLINKED_SIGN)))
            continue
        other, limit, channels = word.partition("=")
        links[validate.host_name(other)] = checked_scope(channels) if limit else None
    if started and not links:
        raise MalformedLine(f"'{name}' is said to be running without a link")
    text = validate.text_line(description)
    return HostRecord(name, started, validate.version(version), links, text, frozenset(unlinked))


class Route(NamedTuple):
    """The route to another host."""

    # All hosts on the route, without this one; the last is the destination.
    path: tuple[str, ...]
    # The intersection of the scopes of all its links.
    scope: Scope

    @property
    def next_hop(self) -> str:
        """Return the first host on the route."""
        return self.path[0]

    @property
    def _rank(self) -> tuple[bool, int, int, tuple[str, ...]]:
        """Return a sort key, the best first: by scope, length, then names, so that all hosts agree."""
        return self.scope is not None, -len(self.scope or ()), len(self.path), self.path

    def is_better_than(self, other: "Route") -> bool:
        """Return whether this route is preferred to another one."""
        return self._rank < other._rank


class Hosts:
    """The records of all known hosts. A link counts only if both of its ends claim it."""

    def __init__(self, own: HostRecord, configured: Iterable[str] = ()) -> None:
        self.own_name = own.name
        self.records: dict[str, HostRecord] = {own.name: own}
        # The nick prefixes of this host and of configured hosts, which no other host can take.
        self._reserved = {host_key(name): name for name in (*configured, own.name)}
        self._names: dict[Folded, str] = dict(self._reserved)
        # The best route to every reachable host.
        self.routes: dict[str, Route] = {}

    @property
    def own(self) -> HostRecord:
        """Return the record of this host."""
        return self.records[self.own_name]

    def learn(self, record: HostRecord, *, is_certain: bool = False) -> bool:
        """Store a record and return whether it was news: newer, or only different if it is certain."""
        known = self.records.get(record.name)
        if known is not None and (known == record if is_certain else known.age >= record.age):
            return False
        self.records[record.name] = record
        self._names.setdefault(host_key(record.name), record.name)
        return True

    def forget(self, name: str) -> None:
        """Forget a host that no peer reports any more."""
        del self.records[name]
        key = host_key(name)
        if key not in self._reserved and self._names.get(key) == name:
            del self._names[key]

    def holder_of(self, name: str) -> str:
        """Return the host that owns the nick prefix of this name: itself, unless another had it first."""
        return self._names.get(host_key(name), name)

    def is_reserved(self, name: str) -> bool:
        """Return whether this name has the nick prefix of this host or of a configured one."""
        return host_key(name) in self._reserved

    def reached_from(self, start: str) -> set[str]:
        """Return a neighbour and all hosts that it reaches without passing this host."""
        reached, further = {start}, [start]
        while further:
            name = further.pop()
            record = self.records.get(name)
            for other in record.neighbours if record is not None else ():
                if other not in reached and other != self.own_name and self.link(name, other)[0]:
                    reached.add(other)
                    further.append(other)
        return reached

    def link(self, one: str, other: str) -> tuple[bool, Scope]:
        """Return whether two hosts are linked, and the scope of their link."""
        here, there = self.records.get(one), self.records.get(other)
        if here is None or there is None or other not in here.neighbours or one not in there.neighbours:
            return False, None
        return True, intersect_scopes(here.neighbours[other], there.neighbours[one])

    def find_routes(self, may_lead: Callable[[str, str], bool] = lambda neighbour, name: True) -> None:
        """Find the best route to each host, from here outwards until no route gets better.

        `may_lead(neighbour, name)` says whether a neighbour may be on the route to a host.
        """
        routes: dict[str, Route] = {}
        fresh = {self.own_name: Route((), None)}
        while fresh:
            further: dict[str, Route] = {}
            for name, route in fresh.items():
                for other, way in self._steps(name, route):
                    if way.next_hop != other and not may_lead(way.next_hop, other):
                        continue
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
                steps.append((other, Route((*route.path, other), intersect_scopes(route.scope, scope))))
        return steps

    def break_between(self, path: tuple[str, ...]) -> tuple[str, str]:
        """Return the two hosts of the first broken link on a former route."""
        for one, other in zip((self.own_name, *path), path, strict=False):
            if not self.link(one, other)[0]:
                return one, other
        return self.own_name, path[-1]
