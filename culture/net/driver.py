"""Drives the core: accepts, feeds it what arrives, and flushes once per turn of the loop."""

import asyncio
import contextlib
import functools
import logging
import socket
from collections.abc import Callable, Iterator
from typing import Any, Final, cast

from culture.config.address import PLAIN, Address, Carrier
from culture.ircd.auth import Authenticator
from culture.ircd.core import Ircd
from culture.ircd.delivery import Output, joined
from culture.ircd.express import SayingError, say
from culture.ircd.session import CLOSED, LINKED, Session
from culture.ircd.traffic import NO_TRAFFIC, Traffic
from culture.net.admission import Admission
from culture.net.answers import Answers
from culture.net.bucket import Bucket, Rate
from culture.net.bulk import Bulk
from culture.net.connection import GOODBYE_S, Connection
from culture.net.door import Door
from culture.net.journaling import write_down
from culture.net.keeping import Keeper
from culture.net.listeners import address_of
from culture.net.origin import Origin
from culture.net.reach import describe, is_exposed
from culture.net.reception import reception
from culture.net.secure_door import SecureDoor
from culture.net.tls import Certificate
from culture.net.traffic import traffic_of
from culture.net.wire import Wire
from culture.net.wires import Arrival, Wires
from culture.systemd.journal import fields

log = logging.getLogger(__name__)

TICK_S: Final = 1.0
LARGE_BYTES: Final = 65536
"""So much in one turn goes only to a host that was away."""
REFUSALS_TOLD_S: Final = 60.0
"""Who hammers at the door fills no journal: one entry per reason in so long."""


class Driver:
    def __init__(
        self,
        ircd: Ircd,
        authenticator: Authenticator | None = None,
        keeper: Keeper | None = None,
        bulk: Bulk | None = None,
    ) -> None:
        """Without a keeper nothing goes on after this process."""
        self.ircd = ircd
        ircd.traffic_of = self._traffic_of
        self.keeper = keeper
        self._drain = ircd.drain if keeper is None else functools.partial(_drain, ircd, keeper)
        self._answers = Answers(ircd, authenticator, self._settle)
        self.admission = Admission(lambda: ircd.limits)
        self._loop = asyncio.get_running_loop()
        self._refusals_told_at: dict[str, float] = {}
        self._connections: dict[Session, Connection] = {}
        self.behind: set[Connection] = set()
        """Those whose readers have not taken what was written to them."""
        self.links: set[Connection] = set()
        """Those that are other hosts, or say so."""
        self.addresses: list[Address] = []
        """Where it listens."""
        self._doors: list[Door] = []
        self._wires = Wires(self._begin_turn, self._flush, bulk, self._hear)
        self.on_tick: Callable[[], None] = lambda: None
        self.is_awake = False
        self.has_left = False
        """Another process goes on: what happens here now would happen twice."""
        self._news = asyncio.Event()
        """Somebody left, or was answered."""

    def serve(
        self,
        listeners: list[socket.socket],
        carrier: Carrier = PLAIN,
        certificate: Certificate | None = None,
    ) -> None:
        """Accept clients. A carrier with TLS needs the certificate."""
        meet = reception(carrier, self)
        for listener in listeners:
            if carrier.is_tls:
                assert certificate is not None
                self._doors.append(SecureDoor(self, self._wires, listener, meet, certificate.context))
            else:
                self._doors.append(Door(self._wires, listener, meet))
            address = address_of(listener)
            self.addresses.append(address)
            log.info("listening on %s", describe(address, carrier), extra=fields("listening"))
            if is_exposed(address, carrier):
                log.warning(
                    "%s has no TLS: whoever is on the way to it can read and change what is said", address
                )

    async def keep_time(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            self.ircd.tick()
            self.on_tick()
            if self.keeper is not None:
                self.keeper.tick()
            self.wake()

    async def stop(self) -> None:
        """Accept nobody any more, say goodbye to everyone, and let it be read."""
        for door in self._doors:
            door.close()
        self.ircd.close_all(list(self.ircd.sessions), "Server is stopping")
        if self.keeper is not None:
            self.keeper.end()
        self._answers.stop()
        self._flush()
        await self._until(lambda: not self._connections)
        self._wires.close()

    async def leave(self, keeper: Keeper) -> None:
        """Let another process go on: who cannot be kept is told, everyone else notices nothing."""
        for door in self._doors:
            door.close()
        unkept = [session for session in self.ircd.sessions if not keeper.keeps(session)]
        self.ircd.close_all(unkept, "Server is restarting")
        self._flush()
        await self._until(lambda: self._connections.keys().isdisjoint(unkept))
        self._wires.rest()
        # An answer belongs to this process.
        await self._until(lambda: not any(session.question for session in self.ircd.sessions))
        for session in list(self.ircd.sessions):
            while session.question is not None:
                self.ircd.unanswered(session.question)
        self._flush()
        self.has_left = keeper.leave()
        if self.has_left:
            self._answers.stop()
        else:
            await self.stop()

    async def _until(self, is_over: Callable[[], bool]) -> None:
        """As clients go and answers come, but not for ever."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GOODBYE_S):
                while not is_over():
                    self._news.clear()
                    await self._news.wait()

    @property
    def status(self) -> str:
        """What `systemctl status` shows."""
        state = self.ircd.state
        clients, channels = _count(state.users_here, "client"), _count(len(state.channels), "channel")
        links = f", {_count(len(self.links), 'link')}" if self.links else ""
        return f"{self.ircd.name}: {clients} in {channels}{links}"

    def connection_of(self, session: Session) -> Connection | None:
        return self._connections.get(session)

    def _traffic_of(self, session: Session) -> Traffic:
        connection = self._connections.get(session)
        return NO_TRAFFIC if connection is None else traffic_of(connection.transport)

    def now(self) -> float:
        return self._loop.time()

    def wire(self, sock: socket.socket, protocol: asyncio.Protocol, address: Any = None) -> Wire:
        """For a client that another process accepted, or a host that we called."""
        return Wire(self._wires, sock, address, protocol)

    def call_later(self, delay_s: float, run: Callable[..., None], *arguments: Any) -> None:
        self._loop.call_later(delay_s, run, *arguments)

    def bucket_for(self, origin: Origin) -> Bucket | None:
        """What a new connection is measured by; none where it may talk as fast as it likes."""
        limits = self.ircd.limits
        if origin.is_local:
            rate = _rate(limits.local_rate_lines_per_s, limits.local_burst_lines)
        else:
            rate = _rate(limits.rate_lines_per_s, limits.burst_lines)
        return Bucket(rate, self.now()) if rate.per_s else None

    def refusal(self, origin: Origin) -> str | None:
        """Why a connection may not come in; the journal knows of it too."""
        why = self.admission.refusal(origin)
        if (
            why is not None
            and self.now() - self._refusals_told_at.get(why, -REFUSALS_TOLD_S) >= REFUSALS_TOLD_S
        ):
            self._refusals_told_at[why] = self.now()
            log.warning(
                "refusing connections, as from %s: %s", origin.peer, why, extra=fields(peer=origin.peer)
            )
        return why

    def opened(self, connection: Connection) -> None:
        self.admission.enter(connection.origin)
        self._connections[connection.session] = connection
        if self.keeper is not None and connection.session.phase is not LINKED:
            self.keeper.opened(connection)

    def linked(self, connection: Connection) -> None:
        """It is another host, or may be one: its handshake has begun."""
        self.admission.registered()
        if self.keeper is not None:
            self.keeper.released(connection)
        self.links.add(connection)

    def registered(self, connection: Connection) -> None:
        session = connection.session
        self.admission.registered()
        extra = fields("client-registered", nick=session.user.nick, peer=session.peer)
        log.info("%s (%s) is here", session.user.nick, session.peer, extra=extra)

    def closed(self, connection: Connection) -> None:
        session = connection.session
        self.admission.leave(connection.origin, was_registered=connection.is_registered)
        del self._connections[session]
        self.behind.discard(connection)
        self._news.set()
        if connection in self.links:
            self.links.discard(connection)
            self.wake()
            return
        extra = fields("client-gone", nick=session.user.nick, peer=session.peer)
        log.info("%s (%s) is gone: %s", session.user.nick, session.peer, session.close_reason, extra=extra)
        self.wake()

    def _settle(self, session: Session) -> None:
        if (connection := self._connections.get(session)) is not None:
            connection.settle()
        self._news.set()

    def wake(self) -> None:
        """Flush before the loop waits again, after everything that arrived in this turn was handled."""
        if not self.is_awake:
            self.is_awake = True
            self._loop.call_soon(self._flush)

    def flush_early(self) -> None:
        """What was heard so far, and then again at the end of the turn."""
        was_awake = self.is_awake
        self._flush()
        self.is_awake = was_awake

    def _begin_turn(self) -> None:
        """What wakes from now on is seen to at the end of the turn."""
        self.is_awake = True

    def _hear(self, arrivals: Iterator[Arrival]) -> None:
        """Everything in the order in which it came: what somebody said follows from what another did."""
        while True:
            try:
                left = say(self.ircd, arrivals)
            except SayingError as error:
                self._wires.attempt(error.key, self._connections[error.session].give_up)
                continue
            if left is None:
                return
            fd, rest = left
            if rest is not None:
                self._wires.hear(fd, rest)
            elif self.ircd.record.is_full:
                self.flush_early()

    def _flush(self) -> None:
        if self.has_left:
            return
        self.is_awake = False
        write_down(self.ircd.notes.take())
        for connection in tuple(self.behind):
            connection.check_backlog()
        while pending := self._drain():
            self._write(pending)
            if self.links and any(_is_large(pending.get(each.session, b"")) for each in self.links):
                # If it was taken at once, there is room for more of what another host lacks.
                self.wake()
        self.ircd.delivered()
        # Only now: an answer knows what was written down.
        self._answers.take()

    def _write(self, pending: dict[Session, Output]) -> None:
        files = [session.outlet for session in pending]
        pieces = cast(list[bytes], [*pending.values()])
        # Mostly that is all. With a look at each, one message to a hundred takes a fortieth longer.
        if not all(files) or list in map(type, pieces):
            files, pieces = [], []
            for session, output in pending.items():
                self._prepare(session, joined(output), files, pieces)
        self._wires.write(files, pieces)

    def _prepare(self, session: Session, data: bytes, files: list[int], pieces: list[bytes]) -> None:
        if session.phase is CLOSED:
            if (connection := self._connections.get(session)) is not None:
                connection.hang_up(data)
        elif not data:
            return
        elif session.outlet:
            files.append(session.outlet)
            pieces.append(data)
        elif session.write is not None:
            session.write(data)


def _drain(ircd: Ircd, keeper: Keeper) -> dict[Session, Output]:
    pending = ircd.drain()
    keeper.write_down()
    return pending


def _is_large(output: Output) -> bool:
    return len(joined(output)) >= LARGE_BYTES


@functools.lru_cache(maxsize=8)
def _rate(per_s: int, burst: int) -> Rate:
    """One for all connections that have the same."""
    return Rate(per_s, burst)


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
