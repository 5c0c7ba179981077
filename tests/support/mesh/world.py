"""Hosts, the wires between them, and one clock: a mesh in one process, the same for the same seed.

What can go wrong between hosts goes wrong here: a cut, which both ends learn of; silence, which nobody does;
a slow wire; a host that crashes in the middle of a turn, or after it, and comes back with what it had written
down, or with an older copy of that.
"""

import heapq
import itertools
import secrets
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Protocol

from culture.federation.links.link import Outbox, PendingRead
from culture.federation.mesh import Mesh
from culture.federation.ports import MeshNote, MeshSettings, Peer
from culture.names import Folded
from support.mesh.disk import Disk
from support.mesh.reader import Reader

# By nick, the channels that somebody is in with the statuses there, and all else that is known of them.
Users = dict[str, tuple[dict[str, str], object]]

# Small enough that everything comes about that takes a crowd elsewhere.
SETTINGS = MeshSettings(
    dial_max_pause_s=8.0, congested_bytes=1500, chunk_events=5, recent_events=10, handshake_s=5.0
)

START = 1_790_000_000.0
# How long somebody tries to connect to a host that does not answer.
CONNECT_S = 3.0


@dataclass(eq=False)
class End:
    """One end of a connection, by which the host there knows it."""

    host: str
    connection: "Connection"
    unsent: deque[str] = field(default_factory=deque)
    is_closing: bool = False

    @property
    def unsent_bytes(self) -> int:
        return sum(map(len, self.unsent))

    @property
    def other(self) -> "End":
        one, two = self.connection.ends
        return two if self is one else one

    def __repr__(self) -> str:
        return f"<{self.host} to {self.other.host}>"


@dataclass(eq=False)
class Connection:
    ends: tuple[End, End] = field(init=False)
    is_open: bool = True

    @classmethod
    def between(cls, one: str, other: str) -> "Connection":
        connection = cls()
        connection.ends = (End(one, connection), End(other, connection))
        return connection


@dataclass
class Wire:
    """What is between two hosts."""

    channels: frozenset[Folded] | None = None
    delay_s: float = 0.01
    # How many it takes; 0: any number.
    lines_per_s: float = 0.0
    is_cut: bool = False
    is_silent: bool = False
    # The hosts at its ends may speak for nobody but themselves.
    is_leaf: bool = False


class Process(Protocol):
    """A running host."""

    mesh: Mesh

    def dialed(self, end: End, name: str) -> None: ...
    def dial_failed(self, name: str) -> None: ...
    def accepted(self, end: End) -> None: ...
    def received(self, end: End, line: str) -> None: ...
    def closed(self, end: End) -> None: ...
    def found(self, read: PendingRead) -> None: ...
    def tick(self) -> None: ...
    def users_of(self, origin: str) -> "Users":
        """As it shows them, without what is local."""
        ...

    def channels(self) -> dict[str, object]:
        """What they are like: topics, modes, lists."""
        ...

    def readers(self) -> list[tuple[Reader, dict[str, set[str]]]]:
        """Each client that is there, with those who are really in its channels."""
        ...

    def act(self, action: tuple[str, ...]) -> None: ...
    def flush(self) -> Outbox:
        """Commits, and says what is to be carried out."""
        ...


@dataclass
class Machine:
    """What stays when the process is gone."""

    name: str
    disk: Disk = field(default_factory=Disk)
    skew_s: float = 0.0
    # It outlives a crash and a restored backup.
    proof_key: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    process: Process | None = None
    backups: list[Disk] = field(default_factory=list)


class World:
    def __init__(
        self,
        random: Random,
        wires: dict[frozenset[str], Wire],
        start: Callable[["World", Machine], Process],
    ) -> None:
        self.random = random
        self.now = START
        self.wires = wires
        self._start = start
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self.connections: list[Connection] = []
        # What hosts told their operators, each with the host that did.
        self.notes: list[tuple[str, MeshNote]] = []
        # All lines that arrived anywhere.
        self.carried: list[str] = []
        # The hosts that no other believes about who is a person.
        self.distrusted: frozenset[str] = frozenset()
        self.machines = {name: Machine(name) for name in sorted(frozenset().union(*wires))}

    # Time.

    def at(self, delay_s: float, run: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self.now + delay_s, next(self._order), run))

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        while self._events and self._events[0][0] <= end:
            self.now, _, run = heapq.heappop(self._events)
            run()
        self.now = end

    # Hosts.

    def peers_of(self, name: str) -> dict[str, Peer]:
        others = {next(iter(pair - {name})): wire for pair, wire in self.wires.items() if name in pair}
        return {
            other: Peer(
                other, "sesame", channels=wire.channels, is_dialed=name < other or self.random.random() < 0.5
            )
            for other, wire in sorted(others.items())
        }

    def boot(self, name: str) -> None:
        machine = self.machines[name]
        if machine.process is None:
            machine.process = self._start(self, machine)
            self._tick(machine, machine.process)

    def _tick(self, machine: Machine, process: Process) -> None:
        if machine.process is process:
            process.tick()
            self.turn(machine.name)
            self.at(1.0, lambda: self._tick(machine, process))

    def crash(self, name: str, *, before_commit: Callable[[Process], None] | None = None) -> None:
        """The process is gone, with all that it did not commit."""
        machine = self.machines[name]
        if machine.process is None:
            return
        if before_commit is not None:
            before_commit(machine.process)
        machine.process = None
        for connection in [each for each in self.connections if name in (end.host for end in each.ends)]:
            self._close(connection, by=name)

    def restore(self, name: str) -> None:
        """The host, which is down, has an older state when it comes back."""
        machine = self.machines[name]
        if machine.process is None and machine.backups:
            machine.disk = self.random.choice(machine.backups).copy()

    def back_up(self, name: str) -> None:
        machine = self.machines[name]
        machine.backups.append(machine.disk.copy())

    # Wires.

    def cut(self, pair: frozenset[str]) -> None:
        self.wires[pair].is_cut = True
        for connection in [each for each in self.connections if {end.host for end in each.ends} == pair]:
            self._close(connection)

    def silence(self, pair: frozenset[str]) -> None:
        self.wires[pair].is_silent = True

    def mend(self, pair: frozenset[str]) -> None:
        wire = self.wires[pair]
        wire.is_cut = wire.is_silent = False
        wire.lines_per_s = 0.0
        for connection in self.connections:
            if {end.host for end in connection.ends} == pair:
                for end in connection.ends:
                    self._carry_soon(end)

    def _wire(self, connection: Connection) -> Wire:
        return self.wires[frozenset(end.host for end in connection.ends)]

    def _close(self, connection: Connection, by: str = "") -> None:
        """What was under way is lost. Silence keeps even that from the other end."""
        if not connection.is_open:
            return
        connection.is_open = False
        self.connections.remove(connection)
        wire = self._wire(connection)
        for end in connection.ends:
            end.unsent.clear()
            if end.host != by and not wire.is_silent:
                self.at(wire.delay_s, partial(self._tell_closed, end))

    def _tell_closed(self, end: End) -> None:
        process = self.machines[end.host].process
        if process is not None:
            process.closed(end)
            self.turn(end.host)

    def _dial(self, name: str, other: str, process: Process) -> None:
        wire = self.wires[frozenset({name, other})]
        if self.machines[name].process is not process:
            return
        if wire.is_cut or wire.is_silent or self.machines[other].process is None:
            delay_s = CONNECT_S if wire.is_silent else wire.delay_s
            self.at(delay_s, lambda: self._undialed(name, other, process))
            return
        connection = Connection.between(name, other)
        self.connections.append(connection)
        ours, theirs = connection.ends
        there = self.machines[other].process
        assert there is not None
        there.accepted(theirs)
        self.turn(other)
        process.dialed(ours, other)
        self.turn(name)

    def _undialed(self, name: str, other: str, process: Process) -> None:
        if self.machines[name].process is process:
            process.dial_failed(other)
            self.turn(name)

    # One turn of a host.

    def turn(self, name: str) -> None:
        machine = self.machines[name]
        process = machine.process
        if process is None:
            return
        outbox = process.flush()
        self.notes += [(name, note) for note in outbox.notes]
        for end, lines in outbox.lines.items():
            assert isinstance(end, End)
            if end.connection.is_open:
                end.unsent.extend(lines)
                self._carry_soon(end)
        for end, _ in outbox.closings:
            assert isinstance(end, End)
            end.is_closing = True
            if not end.unsent or self._wire(end.connection).is_silent:
                self._close(end.connection, by=name)
        for read in outbox.reads:
            self.at(self.random.choice((0.0, 0.001, 0.05)), partial(self._read, machine, process, read))
        for other in outbox.dials:
            self.at(0.01, partial(self._dial, name, other, process))

    def _read(self, machine: Machine, process: Process, read: PendingRead) -> None:
        if machine.process is process:
            process.found(read)
            self.turn(machine.name)

    def _carry_soon(self, end: End) -> None:
        if end.unsent:
            self.at(self._wire(end.connection).delay_s, lambda: self._carry(end))

    def _carry(self, end: End) -> None:
        """Some lines arrive, together."""
        connection, wire = end.connection, self._wire(end.connection)
        if not connection.is_open or wire.is_silent or not end.unsent:
            return
        count = self.random.choice((1, 3, len(end.unsent)))
        if wire.lines_per_s:
            count = min(count, max(1, int(wire.lines_per_s * wire.delay_s)))
        other = end.other
        there = self.machines[other.host].process
        for _ in range(min(count, len(end.unsent))):
            line = end.unsent.popleft()
            self.carried.append(line)
            if there is not None:
                there.received(other, line)
        self.turn(other.host)
        if wire.lines_per_s:
            # There is room again.
            self.turn(end.host)
        if connection.is_open and end.is_closing and not end.unsent:
            self._close(connection, by=end.host)
        self._carry_soon(end)
