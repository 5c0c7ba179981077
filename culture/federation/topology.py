"""Gossip the records of hosts over links, decide which to believe, and keep the routes.

A peer can lie about other hosts. So a host that is linked to this one is believed about itself on that link
alone. Otherwise a link is believed about a host that it leads to: by the host's own earlier record, or
because the configuration of the link names the host (`leads_to`). For a host that is neither known nor
configured here, the first link that reports it is believed.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from culture.federation.hosts import HostRecord, Hosts, format_record, parse_record
from culture.federation.links.link import Link, Outbox
from culture.federation.ports import MeshNoteKind, Peer
from culture.protocol.line import Line, MalformedLine
from culture.protocol.peers import validate

# A host that is not configured here and was out of reach for so long may come back by any link.
FORGOTTEN_AFTER_S: Final = 600.0


class StolenNameError(MalformedLine):
    """A peer reported a host that would have the nick prefix of another host."""


class Topology:
    """The known hosts and routes, with the claims of each link that they follow from."""

    def __init__(
        self,
        own: HostRecord,
        peers: Mapping[str, Peer],
        up: Mapping[str, Link],
        outbox: Outbox,
        clock: Callable[[], float],
        timer: Callable[[], float],
        begin_generation: Callable[[int], None],
    ) -> None:
        self.hosts = Hosts(replace(own, unlinked=frozenset(peers)), peers)
        # The graph changed since the routes were last updated.
        self.is_changed = True
        self._peers = peers
        self._up = up
        self._outbox = outbox
        self._clock = clock
        self._timer = timer
        self._begin_generation = begin_generation
        self._first_generation = own.generation
        # The records that each link sent, believed or not: whether they are believed may change.
        self._claims: dict[str, dict[str, HostRecord]] = {}
        # The hosts of which some link sent a newer record that is not believed yet.
        self._unbelieved: set[str] = set()
        # By link, the owners of nick prefixes that the peer gives to other hosts; it gets no records of them.
        self._disputed: dict[str, set[str]] = {}
        # Cache of the hosts that each link leads to, valid until a record changes.
        self._reachable: dict[str, set[str]] = {}
        self._unreachable_since: dict[str, float] = {}
        # The next link on the route of direct messages to each host, and that host's generation.
        self._direct_routes: dict[str, tuple[Link, int]] = {}

    def greet(self, link: Link) -> None:
        """Send a new link the records of all hosts, and our own, which makes the link count, last."""
        self._claims[link.name], self._disputed[link.name] = {}, set()
        for record in self.hosts.records.values():
            if record.name != self.hosts.own_name:
                self._outbox.send(link, format_record(record))
                link.told_hosts.add(record.name)
        self.claim_links()

    def link_lost(self, link: Link) -> None:
        """Forget the claims of a link that went down, and publish that it did."""
        self._claims.pop(link.name, None)
        self._disputed.pop(link.name, None)
        self.claim_links()

    def claim_links(self) -> None:
        """Publish which links we have now."""
        own = self.hosts.own
        neighbours = {name: link.scope for name, link in self._up.items()}
        unlinked = frozenset(self._peers) - neighbours.keys()
        self._renew(replace(own, version=own.version + 1, neighbours=neighbours, unlinked=unlinked))

    def _renew(self, own: HostRecord) -> None:
        self.hosts.learn(own)
        self._graph_changed()
        for link in self._up.values():
            self._outbox.send(link, format_record(own))

    def _graph_changed(self) -> None:
        self.is_changed = True
        self._reachable.clear()

    # Records of hosts.

    def learn(self, link: Link, line: Line) -> None:
        """Handle a HOST line. Raises MalformedLine."""
        record = parse_record(line, self._clock())
        if record.name == self.hosts.own_name:
            self._learn_of_oneself(record)
            return
        # Only the peer itself can be the source of a record about itself or a host behind it alone.
        is_made_up_there = record.neighbours.keys() == {link.name} or record.name == link.name
        if not self.is_free(link, record.name, is_first_hand=is_made_up_there):
            return
        claims = self._claims[link.name]
        if record.name not in claims and not self._has_room(link, is_first_hand=is_made_up_there):
            return
        known = claims.get(record.name)
        if known is None or known.age < record.age:
            claims[record.name] = record
            if not self._consider(record.name):
                self._unbelieved.add(record.name)

    def _has_room(self, link: Link, *, is_first_hand: bool) -> bool:
        """Return whether a link may report one more host. Raises MalformedLine if the peer is to blame."""
        claims = self._claims[link.name]
        alone = sum(1 for record in claims.values() if record.neighbours.keys() == {link.name})
        if is_first_hand and alone >= validate.HOSTS_BEHIND:
            raise MalformedLine(f"more than {validate.HOSTS_BEHIND} hosts that only '{link.name}' leads to")
        if len(claims) < validate.HOSTS:
            return True
        # Records of hosts that are unreachable or were invented make room.
        for name in [name for name in claims if name not in self.hosts.routes and name not in self._peers]:
            del claims[name]
        return len(claims) < validate.HOSTS

    def is_free(self, link: Link, name: str, *, is_first_hand: bool) -> bool:
        """Return whether no other host owns the nick prefix of this name.

        Raises StolenNameError if the peer is to blame. It is not if it was lied to itself and relayed the
        record before it could know better.
        """
        holder = self.hosts.holder_of(name)
        if holder == name:
            return True
        why = f"'{name}' would have the nicks of '{holder}'"
        if holder == self.hosts.own_name or (is_first_hand and self.hosts.is_reserved(name)):
            raise StolenNameError(why)
        if link.has_answered and holder in link.told_hosts:
            raise StolenNameError(why)
        if holder not in self._disputed[link.name]:
            self._disputed[link.name].add(holder)
            self._outbox.note(MeshNoteKind.REFUSED, link.name, why)
        return False

    def _consider_waiting(self) -> None:
        """Reconsider records until nothing changes: believing one host may lead to the next."""
        told = {name for claims in self._claims.values() for name in claims}
        self._unbelieved &= told
        while learned := [name for name in sorted(self._unbelieved) if self._consider(name)]:
            self._unbelieved.difference_update(learned)

    def _consider(self, name: str) -> bool:
        """Store and relay the newest record of a host from believed links. Return whether it is news."""
        claims = [
            (record, link)
            for link in self._up.values()
            if (record := self._claims.get(link.name, {}).get(name)) is not None
            and self._is_believed(link, name)
        ]
        if not claims:
            return False
        record, link = max(claims, key=lambda each: each[0].age)
        is_its_own_word = link.name == name
        if self.hosts.holder_of(name) != name or not self.hosts.learn(record, is_certain=is_its_own_word):
            return False
        self._graph_changed()
        for other in self._up.values():
            if other is not link and name not in self._disputed.get(other.name, ()):
                self._outbox.send(other, format_record(record))
        return True

    def is_believed_about(self, link: Link, name: str) -> bool:
        """Return whether a peer may send events of a host. Our own always: their proofs are checked."""
        return name == self.hosts.own_name or self._is_believed(link, name)

    def _is_believed(self, link: Link, name: str) -> bool:
        if name in self._up or name == link.name:
            return name == link.name
        allowed = link.peer.leads_to
        if allowed is not None:
            return name in allowed
        known = self.hosts.records.get(name)
        if known is None or not known.generation:
            return name not in self._peers
        if self._leads_to(link, name):
            return True
        since = self._unreachable_since.get(name)
        return name not in self._peers and since is not None and self._timer() - since >= FORGOTTEN_AFTER_S

    def _leads_to(self, link: Link, name: str) -> bool:
        """Return whether a host is behind a link, or by its own record may link to a host that is."""
        known = self.hosts.records.get(name)
        possible = known.possible if known is not None else ()
        return self.reaches(link, name) or any(self.reaches(link, other) for other in possible)

    def _may_lead(self, neighbour: str, name: str) -> bool:
        allowed = self._peers[neighbour].leads_to
        return allowed is None or name in allowed

    def reaches(self, link: Link, name: str) -> bool:
        """Return whether a link leads to a host."""
        if name != link.name and not self._may_lead(link.name, name):
            return False
        behind = self._reachable.get(link.name)
        if behind is None:
            behind = self._reachable[link.name] = self.hosts.reached_from(link.name)
        return name in behind

    def _learn_of_oneself(self, record: HostRecord) -> None:
        """Handle a record of this host: a newer one means that our clock went back or state was lost."""
        own = self.hosts.own
        # A peer cannot push our generation further than our clock can have been ahead.
        latest = max(self._first_generation, int(self._clock())) + validate.AHEAD_S
        if record.generation > latest:
            raise MalformedLine(f"the generation of '{own.name}' is too far ahead of our clock")
        # No host gets that far by counting, so a liar made it up. The peer may only repeat it, so the link
        # stays. Begin a new generation: a host that ran out of versions could not announce anything any more.
        is_used_up = record.generation == own.generation and record.version >= validate.VERSIONS // 2
        if record.generation > own.generation or is_used_up:
            generation = max(record.generation + 1, int(self._clock()))
            self._begin_generation(generation)
            self._renew(replace(own, generation=generation, version=1))
        elif record.age > own.age:
            self._renew(replace(own, version=record.version + 1))

    # Routes.

    def tick(self) -> None:
        """Have waiting records reconsidered, because some are believed only after a while."""
        self.is_changed = self.is_changed or bool(self._unbelieved)

    def direct_link(self, name: str) -> Link | None:
        """Return the next link for direct messages to a host, or None if the route is limited."""
        route = self.hosts.routes.get(name)
        return self._up.get(route.next_hop) if route is not None and route.scope is None else None

    def update_routes(self) -> list[str]:
        """Update all routes, and return the hosts whose direct route or generation changed."""
        self._consider_waiting()
        self.is_changed = False
        self.hosts.find_routes(self._may_lead)
        self._note_unreachable()
        before, self._direct_routes = self._direct_routes, {}
        for name in self.hosts.routes:
            if (link := self.direct_link(name)) is not None:
                self._direct_routes[name] = (link, self.hosts.records[name].generation)
        return [name for name, way in self._direct_routes.items() if before.get(name) != way]

    def _note_unreachable(self) -> None:
        now = self._timer()
        self._unreachable_since = {
            name: self._unreachable_since.get(name, now)
            for name in self.hosts.records
            if name not in self.hosts.routes and name != self.hosts.own_name
        }

    def forget_unknown(self, held: Callable[[str], bool]) -> list[str]:
        """Forget and return hosts that were long out of reach, if no link reports them and nothing is held.

        If too many hosts are known, those that were out of reach for longest go sooner.
        """
        told = {name for claims in self._claims.values() for name in claims}
        away = [name for name in self._unreachable_since if name not in told and name not in self._peers]
        away = sorted((name for name in away if not held(name)), key=self._unreachable_since.__getitem__)
        too_many = max(0, len(self.hosts.records) - 2 * validate.HOSTS)
        long_ago = self._timer() - FORGOTTEN_AFTER_S
        gone = [
            name
            for index, name in enumerate(away)
            if index < too_many or self._unreachable_since[name] <= long_ago
        ]
        for name in gone:
            self.hosts.forget(name)
            del self._unreachable_since[name]
        return gone
