"""Deliver direct messages between hosts: in order, acknowledged end to end, repeated until acknowledged.

Hosts in between do not store them. The sender asks for the receiver's watermarks (ASK) when the receiver
becomes reachable, when the route changes, and when no acknowledgement comes; everything after those in the
reply (ACK) is read from history and sent again. The receiver sends back messages that the sender lost.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from culture.federation.event_lines import CarriedEvent, encode
from culture.federation.event_proofs import EventProofs
from culture.federation.links.link import Link, Outbox, PendingRead
from culture.federation.numbers import covers, format_levels, generation_of, raise_levels
from culture.federation.ports import DIRECT, Levels, MeshSettings, ReadRequest
from culture.protocol.event_record import EventRecord
from culture.protocol.line import format_line

# How often a host is asked to send lost messages back, which it may have lost as well.
MAX_RETURN_REQUESTS: Final = 10
# How many links a line may pass, in case hosts disagree about the route for a moment.
MAX_HOPS: Final = 16

# The sending and the receiving host.
Ends = tuple[str, str]


@dataclass(slots=True, eq=False)
class OutgoingDirect:
    """The state of sending to one host."""

    to: str
    # The last number that was sent, by generation.
    sent: dict[int, int] = field(default_factory=dict)
    # The number of the last message that was sent.
    last: int = 0
    # The receiver has caught up with history, so that new messages can be sent at once.
    is_current: bool = False
    # The number of the newest message of this process.
    newest: int = 0
    # The value of `newest` when history was last read.
    newest_read: int = 0
    # Since when the receiver owes an ACK.
    waiting_since: float | None = None
    # How often lost messages were requested since the route last changed.
    returns: int = 0


@dataclass(slots=True, eq=False)
class ReturnedDirect:
    """The state of sending messages back to the host that sent and lost them."""

    to: str
    sent: dict[int, int]
    last: int


class DirectMessages:
    """Sends and receives the direct messages between this host and others."""

    def __init__(
        self,
        own_name: str,
        outbox: Outbox,
        holdings: Mapping[str, Mapping[str, Levels]],
        link_to: Callable[[str], Link | None],
        proofs: EventProofs,
        timer: Callable[[], float],
        settings: MeshSettings,
    ) -> None:
        """`holdings` are those of history. `link_to` returns the next link on the route, if any."""
        self._own_name = own_name
        self._outbox = outbox
        # The committed levels of messages between two hosts.
        self._held: dict[Ends, dict[int, int]] = {
            (origin or own_name, scope.removeprefix(DIRECT)): dict(levels)
            for origin, scopes in holdings.items()
            for scope, levels in scopes.items()
            if scope.startswith(DIRECT)
        }
        # The same with the messages of this tick, which are not committed yet.
        self._expected: dict[Ends, dict[int, int]] = {}
        self._link_to = link_to
        self._proofs = proofs
        self._timer = timer
        self._retry_s = settings.retry_s
        self._chunk = settings.chunk_events
        self._sending: dict[str, OutgoingDirect] = {}
        # The hosts that get an ACK once this tick is committed.
        self._unanswered: set[str] = set()

    # Sending.

    def route_changed(self, host: str) -> None:
        """Ask for the receiver's watermarks, because messages on the old route may be lost."""
        sending = self._sending_to(host)
        sending.is_current = False
        sending.returns = 0
        self._ask(sending)

    def send(self, event: EventRecord) -> None:
        """Send a committed local message, at once if the receiver has caught up."""
        if not self._is_new(event, self._expected_of((self._own_name, event.to))):
            return
        sending = self._sending_to(event.to)
        sending.newest = event.seq
        if sending.is_current:
            self._send(sending, event)

    def on_ack(self, host: str, levels: Levels) -> None:
        """Handle ACK: the receiver has everything up to these levels."""
        sending = self._sending_to(host)
        is_answer, sending.waiting_since = sending.waiting_since is not None, None
        if is_answer and not sending.is_current:
            sending.sent, sending.last = dict(levels), max(levels.values(), default=0)
            self._read(sending)
        elif not covers(levels, sending.sent):
            sending.waiting_since = self._timer()
        if sending.returns < MAX_RETURN_REQUESTS and not covers(
            self._held.get((self._own_name, host), {}), levels
        ):
            # The receiver has messages that we lost, and sends them back; those may get lost as well.
            sending.returns += 1
            sending.waiting_since = self._timer()

    def found(
        self, asker: OutgoingDirect | ReturnedDirect, request: ReadRequest, events: Sequence[EventRecord]
    ) -> None:
        """Send the messages that were read from history."""
        if isinstance(asker, ReturnedDirect):
            self._give_back(asker, request, events)
            return
        if asker.is_current or request.after != asker.sent:
            # The state changed during the read; the ACK that is due starts it again.
            return
        asker.is_current = True
        for each in events:
            if asker.is_current:
                self._send(asker, self._proofs.prove(each._replace(origin=self._own_name)))
        is_all = len(events) < request.most and asker.newest == asker.newest_read
        if asker.is_current and not is_all:
            asker.is_current = False
            self._read(asker)

    def unread(self, asker: OutgoingDirect | ReturnedDirect) -> None:
        """Schedule another attempt after history could not be read."""
        if isinstance(asker, OutgoingDirect):
            asker.waiting_since = self._timer()

    def tick(self) -> None:
        """Ask again where an ACK is overdue."""
        for sending in self._sending.values():
            if sending.waiting_since is not None and self._timer() - sending.waiting_since >= self._retry_s:
                sending.is_current = False
                self._ask(sending)

    def _sending_to(self, host: str) -> OutgoingDirect:
        return self._sending.setdefault(host, OutgoingDirect(host))

    def _send(self, sending: OutgoingDirect, event: EventRecord) -> None:
        sending.waiting_since = sending.waiting_since or self._timer()
        link = self._link_to(sending.to)
        if link is None or link.is_congested:
            sending.is_current = False
            return
        carried = CarriedEvent(self._for_others(event), previous=sending.last, hops=MAX_HOPS)
        self._outbox.send(link, encode(carried))
        sending.last = event.seq
        raise_levels(sending.sent, {generation_of(event.seq): event.seq})

    def _ask(self, sending: OutgoingDirect) -> None:
        if (link := self._link_to(sending.to)) is not None:
            held = format_levels(self._held.get((self._own_name, sending.to), {}))
            self._outbox.send(link, format_line("ASK", self._own_name, sending.to, str(MAX_HOPS), held))
            sending.waiting_since = self._timer()

    def _read(self, sending: OutgoingDirect) -> None:
        sending.newest_read = sending.newest
        request = ReadRequest("", dict(sending.sent), to=sending.to, most=self._chunk)
        self._outbox.reads.append(PendingRead(request, sending))

    # Receiving.

    def is_next(self, carried: CarriedEvent) -> bool:
        """Return whether a message to us, or one of ours sent back, is new and follows without a gap."""
        event = carried.event
        if not carried.is_returned:
            self._unanswered.add(event.origin)
        held = self._expected_of((event.origin, event.to))
        if carried.previous > held.get(generation_of(carried.previous), 0):
            return False
        return self._is_new(event, held)

    def on_ask(self, host: str, levels: Levels) -> None:
        """Handle ASK: schedule an ACK, and send back what the sender lost by its own levels."""
        self._unanswered.add(host)
        if not covers(levels, self._held.get((host, self._own_name), {})):
            self._look_up(ReturnedDirect(host, dict(levels), max(levels.values(), default=0)))

    def _look_up(self, returning: ReturnedDirect) -> None:
        request = ReadRequest(returning.to, dict(returning.sent), to=self._own_name, most=self._chunk)
        self._outbox.reads.append(PendingRead(request, returning))

    def _give_back(
        self, returning: ReturnedDirect, request: ReadRequest, events: Sequence[EventRecord]
    ) -> None:
        if (link := self._link_to(returning.to)) is None:
            return
        for each in events:
            message = self._for_others(each)
            carried = CarriedEvent(message, previous=returning.last, hops=MAX_HOPS, is_returned=True)
            self._outbox.send(link, encode(carried))
            returning.last = each.seq
            raise_levels(returning.sent, {generation_of(each.seq): each.seq})
        if len(events) == request.most:
            self._look_up(returning)

    def _for_others(self, event: EventRecord) -> EventRecord:
        """Name the host of each party, because a receiver takes a party without one for its own."""
        if event.ends is None:
            return event
        one, other = (party.told_by(self._own_name) for party in event.ends)
        return event._replace(ends=(one, other))

    def commit(self) -> None:
        """Acknowledge the messages that are now recorded."""
        self._held.update(self._expected)
        self._expected.clear()
        for host in sorted(self._unanswered):
            if (link := self._link_to(host)) is not None:
                held = format_levels(self._held.get((host, self._own_name), {}))
                self._outbox.send(link, format_line("ACK", self._own_name, host, str(MAX_HOPS), held))
        self._unanswered.clear()

    def give_up(self) -> None:
        """Forget the messages of this tick, which could not be recorded; the senders repeat them."""
        self._expected.clear()
        self._unanswered.clear()

    def _expected_of(self, ends: Ends) -> dict[int, int]:
        if ends not in self._expected:
            self._expected[ends] = dict(self._held.get(ends, {}))
        return self._expected[ends]

    def _is_new(self, event: EventRecord, levels: dict[int, int]) -> bool:
        generation, number = generation_of(event.seq), event.seq
        if number <= levels.get(generation, 0):
            return False
        levels[generation] = number
        return True
