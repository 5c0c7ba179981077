"""The mesh as one host sees it, without I/O.

The caller passes in connections, lines, committed events, read results and the time, and carries out what
`flush` returns. Nothing here waits.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from culture.federation.event_proofs import EventProofs
from culture.federation.feeds.direct_messages import DirectMessages, OutgoingDirect, ReturnedDirect
from culture.federation.feeds.incoming import IncomingFeeds, UncommittedEvent, UncommittedSnapshot
from culture.federation.feeds.log_tail import LogTails
from culture.federation.feeds.outgoing import OutgoingFeed, OutgoingFeeds
from culture.federation.feeds.watermarks import Scope
from culture.federation.hosts import HostRecord
from culture.federation.intake import Intake
from culture.federation.links.challenge import random_nonce
from culture.federation.links.dial_schedule import DialSchedule
from culture.federation.links.handshake import LinkRefusedError
from culture.federation.links.link import ConnectionKey, Link, Outbox, PendingRead
from culture.federation.links.link_manager import LinkManager
from culture.federation.ports import (
    DEFAULT_SETTINGS,
    DIRECT,
    Caller,
    Levels,
    LocalServer,
    MeshNoteKind,
    MeshSettings,
    Peer,
)
from culture.federation.splits import SplitDetector
from culture.federation.topology import Topology
from culture.protocol.event_record import CROSSING, EventRecord
from culture.protocol.line import Line, parse_line

# Pause before events are requested again that could not be recorded or read.
RETRY_AFTER_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class LinkStatus:
    """The state of a link, for operators."""

    name: str
    is_up: bool
    since: float | None = None
    lag_s: float | None = None
    channels: Scope = None
    # The origins whose events this host is still receiving, and those the peer is still receiving.
    lacking_here: tuple[str, ...] = ()
    lacking_there: tuple[str, ...] = ()
    next_attempt_at: float | None = None


class Mesh:
    """The entry point of the package: wires its parts together and takes all inputs."""

    def __init__(
        self,
        name: str,
        host: LocalServer,
        peers: Mapping[str, Peer],
        holdings: Mapping[str, Mapping[str, Levels]],
        *,
        generation: int,
        proof_key: bytes,
        clock: Callable[[], float],
        timer: Callable[[], float],
        random: Callable[[], float],
        new_nonce: Callable[[], str] = random_nonce,
        description: str = "",
        settings: MeshSettings = DEFAULT_SETTINGS,
    ) -> None:
        """`generation` numbers the events of this run; `random` returns a number between 0 and 1.

        `proof_key` is known to this host alone and stays the same across restarts.
        """
        self.name = name
        self._host = host
        self._proofs = proofs = EventProofs(proof_key, is_lenient=settings.believe_past)
        self._timer = timer
        self._outbox = outbox = Outbox()
        self._tails = LogTails(settings.recent_events)
        for origin, scopes in holdings.items():
            self._tails.add(origin or name, _shared(scopes))
        self._tails.add(name)
        up: dict[str, Link] = {}
        own = HostRecord(name, generation, 1, description=description)
        self._topology = Topology(own, peers, up, outbox, clock, timer, self._begin_generation)
        self.hosts = self._topology.hosts
        for origin in self._tails:
            self.hosts.learn(HostRecord(origin))
        self._incoming = IncomingFeeds(
            *(host, outbox, self.hosts, self._tails, self._topology.is_believed_about, proofs),
            clock=clock,
            timer=timer,
        )
        self._outgoing = OutgoingFeeds(
            name, host, outbox, self._tails, self._incoming.of, self._proofs, settings.chunk_events
        )
        self._direct = DirectMessages(
            name, outbox, holdings, self._topology.direct_link, self._proofs, timer, settings
        )
        self._splits = SplitDetector(self.hosts, timer, settings.split_after_s)
        self._dialing = DialSchedule(timer, random, settings.dial_max_pause_s)
        self.links = LinkManager(
            peers,
            up,
            settings,
            outbox,
            self._dialing,
            own=lambda: self.hosts.own,
            clock=clock,
            timer=timer,
            new_nonce=new_nonce,
            on_up=self._link_up,
            on_down=self._link_down,
        )
        self._intake = Intake(
            *(name, host, outbox, self.links, self._topology),
            *(self._incoming, self._outgoing, self._direct, proofs),
            clock=clock,
            want_again=self._want_again,
        )
        # When to subscribe to an origin again.
        self._retry_at: dict[str, float] = {}
        # A link went down for good, so that its hosts are not waited for.
        self._is_cut = False

    # Inputs.

    def dialed(self, key: ConnectionKey, name: str) -> None:
        """Begin the handshake on a connection that we dialed."""
        self.links.dialed(key, name)

    def dial_failed(self, name: str) -> None:
        """Schedule another attempt after a connection failed."""
        self._dialing.back_off(name)

    def offered(self, key: ConnectionKey, secret: str, server: Line, caller: Caller) -> None:
        """Handle SERVER, maybe after PASS, from a connection that came to us. Refuse it with a reason."""
        self.links.offered(key, secret, server, caller)

    def closed(self, key: ConnectionKey, why: str) -> None:
        """Handle the end of a connection."""
        self.links.closed(key, why)

    def connect(self, name: str) -> None:
        """Dial a host now, and keep redialing it."""
        self._dialing.dial_now(name)

    def disconnect(self, name: str, why: str) -> bool:
        """End a link and stop redialing. Return whether there was a link."""
        return self.links.disconnect(name, why)

    def unsent(self, key: ConnectionKey, waiting: int) -> None:
        """Update how many bytes wait to be sent on a connection."""
        if (link := self.links.find(key)) is not None:
            was_congested = link.is_congested
            link.unsent_bytes = waiting
            if was_congested and not link.is_congested:
                self._outgoing.wake(link)

    def received(self, key: ConnectionKey, raw: bytes) -> None:
        """Handle one line of a link, without its line end."""
        link = self.links.find(key)
        if link is None:
            self.links.on_caller_line(key, raw)
            return
        link.heard_at = self._timer()
        try:
            if raw.startswith(b"HAS ") and link.is_up:
                self._intake.add_snapshot_line(link, raw[4:].decode())
            elif link.is_up:
                self._intake.dispatch(link, parse_line(raw.decode()))
            else:
                self.links.on_handshake_line(link, parse_line(raw.decode()))
        except LinkRefusedError as refusal:
            self.links.refuse(link, refusal)
        except (ValueError, IndexError, OverflowError) as error:
            self.broke(key, str(error))

    def broke(self, key: ConnectionKey, why: str) -> None:
        """Close a link whose peer violated the protocol or triggered an internal error."""
        if (link := self.links.find(key)) is not None:
            self._outbox.note(MeshNoteKind.BROKEN, link.name, why)
            self.links.hang_up(link, f"Link broken: {why}")

    def proved(self, events: Sequence[EventRecord]) -> list[EventRecord]:
        """Return the events with a proof in each local one that other hosts store."""
        return [
            each
            if each.origin or each.is_local or each.is_between_local_users or each.command not in CROSSING
            else self._proofs.prove(each)
            for each in events
        ]

    def committed(self, events: Sequence[EventRecord]) -> None:
        """Relay the local events among those that were committed."""
        tail = self._tails[self.name]
        for each in events:
            is_from_elsewhere = each.origin or each.scope != "*"
            if is_from_elsewhere or each.is_local or each.command not in CROSSING:
                continue
            if each.is_between_local_users:
                continue
            mine = self._proofs.prove(each._replace(origin=self.name))
            if mine.to:
                self._direct.send(mine)
            elif tail.expected.missing_part(mine) is not None:
                tail.add(mine, None)
                self._outgoing.relay(mine, None, is_replayed=False)

    def commit_failed(self) -> None:
        """Handle a tick whose events could not be committed: request what came from peers again."""
        # Peers do not get the events of this tick, so their state may differ from what this host expects.
        for origin in {*self._incoming.give_up(), *self.hosts.routes}:
            self._retry_at[origin] = self._timer() + RETRY_AFTER_S
        self._direct.give_up()
        # The changes are not sent as events, so peers need a snapshot.
        self._outgoing.restart(self.name)

    def found(self, read: PendingRead, events: Sequence[EventRecord]) -> None:
        """Handle the result of a read that the outbox requested."""
        match read.asker:
            case OutgoingFeed() as served:
                self._outgoing.found(served, read.request, events)
            case OutgoingDirect() | ReturnedDirect() as asker:
                self._direct.found(asker, read.request, events)

    def unread(self, read: PendingRead) -> None:
        """Handle a failed read of history; it is retried later."""
        match read.asker:
            case OutgoingFeed() as served:
                self._outgoing.unread(served)
                self._retry_at[self.name] = self._timer() + RETRY_AFTER_S
            case OutgoingDirect() | ReturnedDirect() as asker:
                self._direct.unread(asker)

    def tick(self) -> None:
        """Handle the passing of time. Call it about once a second."""
        now = self._timer()
        self.links.tick()
        self._topology.tick()
        self._direct.tick()
        for origin in [each for each, at in self._retry_at.items() if at <= now]:
            del self._retry_at[origin]
            self._incoming.want_again(origin, self.links.up)
            for link in self.links.up.values():
                self._outgoing.wake(link)
        for between, origins in self._splits.expired(self._host.known_hosts()).items():
            self._outbox.note(MeshNoteKind.SPLIT, between[1], f"split from {', '.join(origins)}")
            self._host.remove_users_of(origins, between)

    def flush(self) -> Outbox:
        """Return what the caller has to carry out. Call it at the end of a tick, after the commit."""
        for each in self._incoming.commit():
            match each:
                case UncommittedEvent(event, _, scope, is_replayed):
                    self._outgoing.relay(event, scope, is_replayed=is_replayed)
                case UncommittedSnapshot(feed):
                    self._outgoing.restart(feed.origin)
        self._direct.commit()
        if self._topology.is_changed:
            self._follow_topology()
        self._outgoing.advance()
        return self._outbox.take()

    # Queries.

    def takes_direct(self, name: str) -> bool:
        """Return whether direct messages can reach a host: its route is not limited to channels."""
        return self._topology.direct_link(name) is not None

    def status(self) -> list[LinkStatus]:
        """Return the state of all configured links."""
        up = self.links.up
        return [
            LinkStatus(
                name,
                is_up=True,
                since=up[name].since,
                lag_s=up[name].lag_s,
                channels=up[name].scope,
                lacking_here=tuple(self._incoming.behind(up[name])),
                lacking_there=tuple(self._outgoing.behind(up[name])),
            )
            if name in up
            else LinkStatus(name, is_up=False, next_attempt_at=self._dialing.next_at(name))
            for name in sorted(self.links.peers)
        ]

    # Links and routes.

    def _link_up(self, link: Link) -> None:
        self._topology.greet(link)

    def _link_down(self, link: Link, is_final: bool) -> None:
        self._outgoing.link_lost(link)
        self._intake.link_lost(link)
        self._is_cut = self._is_cut or is_final
        self._topology.link_lost(link)

    def _begin_generation(self, generation: int) -> None:
        """Begin a new generation, and ask peers for events of the previous one, which is now past."""
        self._host.begin_generation(generation)
        self._incoming.request_past_again(self.name, self.links.up)

    def _follow_topology(self) -> None:
        changed = self._topology.update_routes()
        for origin in self._incoming.follow_routes(self.links.up):
            self._outgoing.restart(origin)
        self._splits.follow_routes(self._host.known_hosts(), at_once=self._is_cut)
        self._is_cut = False
        for name in changed:
            self._direct.route_changed(name)
        for name in self._topology.forget_unknown(self._is_held):
            self._incoming.forget(name)
            self._tails.pop(name, None)

    def _want_again(self, origin: str) -> None:
        self._retry_at[origin] = self._timer() + RETRY_AFTER_S

    def _is_held(self, origin: str) -> bool:
        """Return whether history has events of a host, or its users are known."""
        tail = self._tails.get(origin)
        return origin in self._host.known_hosts() or (tail is not None and bool(tail.expected.generations()))


def _shared(scopes: Mapping[str, Levels]) -> dict[str, Levels]:
    """Return the scopes without those of direct messages."""
    return {scope: levels for scope, levels in scopes.items() if not scope.startswith(DIRECT)}
