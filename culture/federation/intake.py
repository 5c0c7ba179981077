"""Check every line that peers send on links that are up, and dispatch it."""

from collections.abc import Callable, Sequence

from culture.federation.event_lines import CarriedEvent, decode, encode
from culture.federation.event_proofs import EventProofs
from culture.federation.feeds.direct_messages import DirectMessages
from culture.federation.feeds.incoming import IncomingFeeds
from culture.federation.feeds.outgoing import OutgoingFeeds
from culture.federation.feeds.watermarks import Watermarks, checked_scope
from culture.federation.links.link import IncomingSnapshot, Link, Outbox
from culture.federation.links.link_manager import LinkManager
from culture.federation.numbers import generation_of
from culture.federation.ports import LocalServer, MeshNoteKind
from culture.federation.topology import Topology
from culture.protocol.event_record import GENERATIONS
from culture.protocol.line import Line, MalformedLine, format_line
from culture.protocol.peers import validate
from culture.protocol.peers.events import check_event_times


class BrokenLinkError(MalformedLine):
    """A peer violated the protocol of links."""


class Intake:
    """Dispatches the lines of links that are up."""

    def __init__(
        self,
        name: str,
        host: LocalServer,
        outbox: Outbox,
        links: LinkManager,
        topology: Topology,
        incoming: IncomingFeeds,
        outgoing: OutgoingFeeds,
        direct: DirectMessages,
        proofs: EventProofs,
        *,
        clock: Callable[[], float],
        want_again: Callable[[str], None],
    ) -> None:
        """`want_again` subscribes to an origin again after a while."""
        self._name = name
        self._host = host
        self._outbox = outbox
        self._links = links
        self._topology = topology
        self._incoming = incoming
        self._outgoing = outgoing
        self._direct = direct
        self._proofs = proofs
        self._clock = clock
        self._want_again = want_again
        # The watermarks that peers sent by HELD, until WANT or SEEK uses them.
        self._held: dict[tuple[Link, str], Watermarks] = {}

    def add_snapshot_line(self, link: Link, line: str) -> None:
        """Add a line to the snapshot that is being received. Raises BrokenLinkError if there is none."""
        _snapshot_of(link).add(line)

    def link_lost(self, link: Link) -> None:
        """Forget what a link said that is down."""
        self._held = {key: held for key, held in self._held.items() if key[0] is not link}

    def dispatch(self, link: Link, line: Line) -> None:
        """Handle one line of a link. Raises MalformedLine if it violates the protocol."""
        if line.tags:
            self._on_event(link, decode(line))
            return
        params = line.params
        match line.command:
            case "PING":
                self._outbox.send(link, format_line("PONG", validate.word(params[0])))
            case "PONG":
                self._links.on_pong(link)
            case "HOST":
                self._topology.learn(link, line)
            case "HELD":
                self._on_held(link, params[0], params[1:])
            case "WANT":
                self._on_wanted(link, validate.token(params[0]), params[1], None)
            case "SEEK":
                before = GENERATIONS if params[2] == "*" else validate.generation(params[2])
                self._on_wanted(link, validate.token(params[0]), params[1], before)
            case "UNWANT":
                self._outgoing.unsubscribe(link, validate.host_name(params[0]))
            case "FEED":
                origin = self._origin(link, params[1])
                if self._incoming.on_feed(link, params[0], origin, checked_scope(params[2])):
                    self._outgoing.restart(origin)
            case "STATE":
                link.snapshot = IncomingSnapshot(self._origin(link, params[0]), validate.levels(params[1]))
            case "STATEEND":
                self._on_snapshot(link, params[0])
            case "DONE":
                self._incoming.on_done(link, params[0], validate.host_name(params[1]), self._links.up)
            case "NEWS":
                self._incoming.on_news(link, validate.host_name(params[0]), self._links.up)
            case "ASK" | "ACK":
                self._on_direct(link, line)
            case "ERROR":
                self._outbox.closings.append((link.key, params[0]))
                self._links.closed(link.key, params[0])
            case command:
                raise BrokenLinkError(f"'{command}' is not a command of a link")

    def _origin(self, link: Link, name: str) -> str:
        """Check and return an origin's name. Raises StolenNameError if it has another's nick prefix."""
        validate.host_name(name)
        self._topology.is_free(link, name, is_first_hand=True)
        return name

    def _on_held(self, link: Link, origin: str, words: Sequence[str]) -> None:
        validate.host_name(origin)
        if (link, origin) not in self._held and self._held_by(link) >= validate.HOSTS:
            raise BrokenLinkError(f"HELD of more than {validate.HOSTS} hosts")
        held = self._held.setdefault((link, origin), Watermarks())
        for word in words:
            scope, _, levels = word.rpartition("=")
            held.raise_to(checked_scope(scope), validate.levels(levels))
            if held.size > validate.LEVELS:
                raise BrokenLinkError(f"HELD of '{origin}' is too long")

    def _held_by(self, link: Link) -> int:
        return sum(1 for key in self._held if key[0] is link)

    def _on_wanted(self, link: Link, token: str, origin: str, before: int | None) -> None:
        held = self._held.pop((link, validate.host_name(origin)), None) or Watermarks()
        if self._outgoing.count(link) >= 2 * validate.HOSTS:
            raise BrokenLinkError(f"WANT of more than {2 * validate.HOSTS} hosts")
        # A host that is unknown here is no error: the peer may have learned of it first.
        self._outgoing.subscribe(link, token, origin, held, past_before=before)

    def _on_snapshot(self, link: Link, origin: str) -> None:
        snapshot, link.snapshot = _snapshot_of(link), None
        if snapshot.origin != origin:
            raise BrokenLinkError(f"the state of '{snapshot.origin}' ends as that of '{origin}'")
        try:
            if self._incoming.take_snapshot(link, origin, snapshot.levels, snapshot.lines):
                self._want_again(origin)
        except validate.ImplausibleTimeError as error:
            self._refuse_time(link, origin, error)

    def _refuse_time(self, link: Link, origin: str, error: validate.ImplausibleTimeError) -> None:
        """End the link if the peer is the origin of the time; a peer that relayed it is not to blame."""
        if link.name == origin:
            raise error
        self._outbox.note(MeshNoteKind.REFUSED, link.name, f"passed on of '{origin}': {error}")

    def _on_event(self, link: Link, carried: CarriedEvent) -> None:
        event = carried.event
        try:
            check_event_times(event, self._clock())
            if event.to:
                self._on_direct_message(link, carried)
            else:
                self._on_shared_event(link, carried)
        except validate.ImplausibleTimeError as error:
            self._refuse_time(link, event.origin, error)

    def _on_shared_event(self, link: Link, carried: CarriedEvent) -> None:
        """Handle an event that is not a direct message."""
        origin = self._origin(link, carried.event.origin)
        if self._incoming.take(link, carried):
            self._want_again(origin)

    def _on_direct_message(self, link: Link, carried: CarriedEvent) -> None:
        event, origin = carried.event, carried.event.origin
        sender, to = (event.to, origin) if carried.is_returned else (origin, event.to)
        if not self._topology.is_free(link, sender, is_first_hand=False) or not self._may_come_by(
            link, sender
        ):
            return
        if to != self._name:
            self._carry(link, to, encode(carried._replace(hops=carried.hops - 1)), carried.hops)
            return
        try:
            self._take_direct_message(carried)
        except MalformedLine:
            # A host in between cannot judge what it carries: this ends the link of the sender alone.
            if link.name == sender:
                raise

    def _take_direct_message(self, carried: CarriedEvent) -> None:
        if carried.is_returned:
            self._take_back(carried)
            return
        event = carried.event
        validate.nick(event.target, self._name)
        if self._is_of_its_time(carried) and self._direct.is_next(carried):
            self._host.apply_event(event, is_replayed=False)

    def _take_back(self, carried: CarriedEvent) -> None:
        """Record a direct message of ours that a peer sends back, if its proof is valid."""
        own = self._proofs.checked(carried.event) if self._is_of_its_time(carried) else None
        if own is not None and self._direct.is_next(carried):
            self._host.record_event(own._replace(origin=""))

    def _is_of_its_time(self, carried: CarriedEvent) -> bool:
        """Return whether a direct message has a number that its host may have given. Raises BrokenLinkError.

        One of ours that comes back is of an earlier run: of this one nothing is lost.
        """
        generation, hosts = generation_of(carried.event.seq), self._topology.hosts
        if carried.is_returned and generation >= hosts.own.generation:
            raise BrokenLinkError(f"returns a direct message of generation {generation}, which is not over")
        return generation <= hosts.records[carried.event.origin].generation

    def _on_direct(self, link: Link, line: Line) -> None:
        """Handle ASK and ACK: source, destination, remaining hops, and the source's watermarks."""
        source, to, hops, held = line.params
        left, levels = validate.hops(hops), validate.levels(held)
        validate.host_name(to)
        if not self._may_come_by(link, validate.host_name(source)):
            return
        if to != self._name:
            self._carry(link, to, format_line(line.command, source, to, str(left - 1), held), left)
        elif line.command == "ASK":
            self._direct.on_ask(source, levels)
        else:
            self._direct.on_ack(source, levels)

    def _may_come_by(self, link: Link, origin: str) -> bool:
        """Return whether direct traffic of a host may arrive by this link.

        The link has to lead to that host, and neither the link nor the route may be limited to channels.
        """
        if not self._topology.is_free(link, origin, is_first_hand=False):
            return False
        if origin == self._name or link.scope is not None or self._topology.direct_link(origin) is None:
            return False
        own_link = self._links.up.get(origin)
        if own_link is not None and own_link.scope is None:
            return own_link is link
        return self._topology.reaches(link, origin)

    def _carry(self, link: Link, to: str, line: str, hops: int) -> None:
        """Forward a line towards its destination, never back. Its origin repeats it if it gets lost."""
        way = self._topology.direct_link(to)
        if way is not None and way is not link and hops > 1 and not way.is_congested:
            self._outbox.send(way, line)


def _snapshot_of(link: Link) -> IncomingSnapshot:
    if link.snapshot is None:
        raise BrokenLinkError("a snapshot line came outside a snapshot")
    return link.snapshot
