"""Who is linked to whom: what hosts say of themselves is passed on, and the ways to them follow from it."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from culture.federation.hosts import HostRecord, Hosts, format_record, parse_record
from culture.federation.link import Link, Outbox
from culture.protocol.line import Line


class Topology:
    def __init__(
        self,
        own: HostRecord,
        up: Mapping[str, Link],
        outbox: Outbox,
        clock: Callable[[], float],
        begin_generation: Callable[[int], None],
    ) -> None:
        self.hosts = Hosts(own)
        self.is_changed = True
        """The graph is another one than the ways are for."""
        self._up = up
        self._outbox = outbox
        self._clock = clock
        self._begin_generation = begin_generation
        self._hearsay: dict[str, HostRecord] = {}
        """What others say of hosts that are linked to us."""
        self._ways: dict[str, tuple[Link, int]] = {}
        """The next link on the way of direct messages, and the generation of the host at its end."""

    def greet(self, link: Link) -> None:
        """A new link: it is told of all hosts, and last that it counts: what it leads to is known by then."""
        for record in self.hosts.records.values():
            if record.name != self.hosts.own_name:
                self._outbox.send(link, format_record(record))
        self.claim_links()

    def claim_links(self) -> None:
        """Say which links we have now. Of who is not linked any more, others know."""
        for record in [each for name, each in self._hearsay.items() if name not in self._up]:
            del self._hearsay[record.name]
            self._learn(record)
        own = self.hosts.own
        neighbours = {name: link.scope for name, link in self._up.items()}
        self._renew(replace(own, version=own.version + 1, neighbours=neighbours))

    def _renew(self, own: HostRecord) -> None:
        self.hosts.learn(own)
        self.is_changed = True
        for link in self._up.values():
            self._outbox.send(link, format_record(own))

    def learn(self, link: Link, line: Line) -> None:
        """HOST. Raises MalformedLine."""
        record = parse_record(line, self._clock())
        if record.name == self.hosts.own_name:
            self._learn_of_oneself(record)
        elif record.name in self._up and record.name != link.name:
            # It says so itself, as long as the link lives.
            known = self._hearsay.get(record.name)
            if known is None or known.age < record.age:
                self._hearsay[record.name] = record
        else:
            self._learn(record, link)

    def _learn(self, record: HostRecord, link: Link | None = None) -> None:
        if self.hosts.learn(record):
            self.is_changed = True
            for other in self._up.values():
                if other is not link:
                    self._outbox.send(other, format_record(record))

    def _learn_of_oneself(self, record: HostRecord) -> None:
        """Somebody knows something newer of us: our clock went back, or our state is an older one."""
        own = self.hosts.own
        if record.generation > own.generation:
            generation = max(record.generation + 1, int(self._clock()))
            self._begin_generation(generation)
            self._renew(replace(own, generation=generation, version=1))
        elif record.age > own.age:
            self._renew(replace(own, version=record.version + 1))

    def direct_link(self, name: str) -> Link | None:
        """The next one on the way of what is for one host alone, which is never a limited one."""
        route = self.hosts.routes.get(name)
        return self._up.get(route.next_hop) if route is not None and route.scope is None else None

    def find_ways(self) -> list[str]:
        """The hosts that direct messages now go to by another way, or that are not what they were."""
        self.is_changed = False
        self.hosts.find_routes()
        before, self._ways = self._ways, {}
        for name in self.hosts.routes:
            if (link := self.direct_link(name)) is not None:
                self._ways[name] = (link, self.hosts.records[name].generation)
        return [name for name, way in self._ways.items() if before.get(name) != way]
