"""Direct messages from host to host: in order, acknowledged end to end, sent again until they are.

Nobody between the two ends keeps them. The sender asks how far the other has come (ASK) when it becomes
reachable, when the way to it changes, and when it is silent for too long; what is behind the answer (ACK) is
read from history and sent again. Who is asked gives back what the sender itself lost.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from culture.federation.link import Link, Outbox, Read
from culture.federation.numbers import covers, format_levels, generation_of, raise_levels
from culture.federation.ports import DIRECT, Levels, ReadRequest, Settings
from culture.federation.wire import Carried, encode
from culture.protocol.happening import Happening
from culture.protocol.line import format_line

RETURNS: Final = 10
"""How often a host is asked for what it may not have any more either."""
HOPS: Final = 16
"""Over how many links a line may go, should hosts disagree for a moment about the way."""

Ends = tuple[str, str]
"""The host that a message is from, and the one it is to."""


@dataclass(slots=True, eq=False)
class Sending:
    """What goes to one host."""

    to: str
    sent: dict[int, int] = field(default_factory=dict)
    """Of each generation, the last that was sent."""
    last: int = 0
    """The number of the last one that was sent."""
    is_current: bool = False
    """Everything was sent since the other said how far it is: what is new can go at once."""
    newest: int = 0
    """The number of the last one that there is, as far as it was made by this process."""
    newest_read: int = 0
    """What it was when history was asked."""
    asked_at: float | None = None
    """Since when it owes an answer."""
    returns: int = 0
    """How often it was asked for what we lost, since there is this way to it."""


@dataclass(slots=True, eq=False)
class Returning:
    """What a host gets back that sent it, and lost it."""

    to: str
    sent: dict[int, int]
    last: int


class Direct:
    def __init__(
        self,
        own_name: str,
        outbox: Outbox,
        holdings: Mapping[str, Mapping[str, Levels]],
        link_to: Callable[[str], Link | None],
        timer: Callable[[], float],
        settings: Settings,
    ) -> None:
        """`holdings` as history has them. `link_to` is the next one on the way, if any."""
        self._own_name = own_name
        self._outbox = outbox
        self._held: dict[Ends, dict[int, int]] = {
            (origin or own_name, scope.removeprefix(DIRECT)): dict(levels)
            for origin, scopes in holdings.items()
            for scope, levels in scopes.items()
            if scope.startswith(DIRECT)
        }
        """How far what went between two hosts is here, and committed."""
        self._expected: dict[Ends, dict[int, int]] = {}
        """With what came in this turn."""
        self._link_to = link_to
        self._timer = timer
        self._retry_s = settings.retry_s
        self._chunk = settings.chunk_events
        self._sending: dict[str, Sending] = {}
        self._unanswered: set[str] = set()
        """The hosts that are to be told how far we are, once this turn is committed."""

    # What we send.

    def way_changed(self, host: str) -> None:
        """What is under way may be lost."""
        sending = self._sending_to(host)
        sending.is_current = False
        sending.returns = 0
        self._ask(sending)

    def send(self, happening: Happening) -> None:
        """A message of ours, which was committed."""
        if not self._is_new(happening, self._expected_of((self._own_name, happening.to))):
            return
        sending = self._sending_to(happening.to)
        sending.newest = happening.seq
        if sending.is_current:
            self._send(sending, happening)

    def acknowledged(self, host: str, levels: Levels) -> None:
        """The other end has everything up to there."""
        sending = self._sending_to(host)
        is_answer, sending.asked_at = sending.asked_at is not None, None
        if is_answer and not sending.is_current:
            sending.sent, sending.last = dict(levels), max(levels.values(), default=0)
            self._read(sending)
        elif not covers(levels, sending.sent):
            sending.asked_at = self._timer()
        if sending.returns < RETURNS and not covers(self._held.get((self._own_name, host), {}), levels):
            # It has what we lost, and gives it back; that may be lost as well.
            sending.returns += 1
            sending.asked_at = self._timer()

    def found(
        self, asker: Sending | Returning, request: ReadRequest, happenings: Sequence[Happening]
    ) -> None:
        if isinstance(asker, Returning):
            self._give_back(asker, request, happenings)
            return
        if asker.is_current or request.after != asker.sent:
            # Things went on meanwhile; the answer that is awaited starts it again.
            return
        asker.is_current = True
        for each in happenings:
            if asker.is_current:
                self._send(asker, each._replace(origin=self._own_name))
        is_all = len(happenings) < request.most and asker.newest == asker.newest_read
        if asker.is_current and not is_all:
            asker.is_current = False
            self._read(asker)

    def unread(self, asker: Sending | Returning) -> None:
        """History could not be asked: it is tried again."""
        if isinstance(asker, Sending):
            asker.asked_at = self._timer()

    def tick(self) -> None:
        for sending in self._sending.values():
            if sending.asked_at is not None and self._timer() - sending.asked_at >= self._retry_s:
                sending.is_current = False
                self._ask(sending)

    def _sending_to(self, host: str) -> Sending:
        return self._sending.setdefault(host, Sending(host))

    def _send(self, sending: Sending, happening: Happening) -> None:
        sending.asked_at = sending.asked_at or self._timer()
        link = self._link_to(sending.to)
        if link is None or link.is_congested:
            sending.is_current = False
            return
        self._outbox.send(link, encode(Carried(happening, previous=sending.last, hops=HOPS)))
        sending.last = happening.seq
        raise_levels(sending.sent, {generation_of(happening.seq): happening.seq})

    def _ask(self, sending: Sending) -> None:
        if (link := self._link_to(sending.to)) is not None:
            held = format_levels(self._held.get((self._own_name, sending.to), {}))
            self._outbox.send(link, format_line("ASK", self._own_name, sending.to, str(HOPS), held))
            sending.asked_at = self._timer()

    def _read(self, sending: Sending) -> None:
        sending.newest_read = sending.newest
        request = ReadRequest("", dict(sending.sent), to=sending.to, most=self._chunk)
        self._outbox.reads.append(Read(request, sending))

    # What we get.

    def is_next(self, carried: Carried) -> bool:
        """Whether a message, to us or one of ours that comes back, is new, and none before it is missing."""
        happening = carried.happening
        if not carried.is_returned:
            self._unanswered.add(happening.origin)
        held = self._expected_of((happening.origin, happening.to))
        if carried.previous > held.get(generation_of(carried.previous), 0):
            return False
        return self._is_new(happening, held)

    def asked(self, host: str, levels: Levels) -> None:
        """A sender says how far what it sent is with itself, and wants to know how far it is with us."""
        self._unanswered.add(host)
        if not covers(levels, self._held.get((host, self._own_name), {})):
            self._look_up(Returning(host, dict(levels), max(levels.values(), default=0)))

    def _look_up(self, returning: Returning) -> None:
        request = ReadRequest(returning.to, dict(returning.sent), to=self._own_name, most=self._chunk)
        self._outbox.reads.append(Read(request, returning))

    def _give_back(self, returning: Returning, request: ReadRequest, happenings: Sequence[Happening]) -> None:
        if (link := self._link_to(returning.to)) is None:
            return
        for each in happenings:
            carried = Carried(each, previous=returning.last, hops=HOPS, is_returned=True)
            self._outbox.send(link, encode(carried))
            returning.last = each.seq
            raise_levels(returning.sent, {generation_of(each.seq): each.seq})
        if len(happenings) == request.most:
            self._look_up(returning)

    def commit(self) -> None:
        """What came is written down: the senders are told how far we are."""
        self._held.update(self._expected)
        self._expected.clear()
        for host in sorted(self._unanswered):
            if (link := self._link_to(host)) is not None:
                held = format_levels(self._held.get((host, self._own_name), {}))
                self._outbox.send(link, format_line("ACK", self._own_name, host, str(HOPS), held))
        self._unanswered.clear()

    def give_up(self) -> None:
        """What came could not be written down: it comes again."""
        self._expected.clear()
        self._unanswered.clear()

    def _expected_of(self, ends: Ends) -> dict[int, int]:
        if ends not in self._expected:
            self._expected[ends] = dict(self._held.get(ends, {}))
        return self._expected[ends]

    def _is_new(self, happening: Happening, levels: dict[int, int]) -> bool:
        generation, number = generation_of(happening.seq), happening.seq
        if number <= levels.get(generation, 0):
            return False
        levels[generation] = number
        return True
