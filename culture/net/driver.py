"""Drive the IRC core: accept connections, feed it their input, and flush its output once per loop tick."""

import asyncio
import contextlib
import functools
import logging
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, cast

from culture.config.address import PLAIN, Address, Carrier
from culture.ircd.auth.questions import Authenticator
from culture.ircd.delivery.fast_path import FastPathError, deliver_plain_messages
from culture.ircd.delivery.queue import Output, join_output
from culture.ircd.server import Ircd
from culture.ircd.session import CLOSED, LINKED, UNLIMITED, Session
from culture.ircd.traffic import NO_TRAFFIC, Traffic
from culture.net.audit_log import log_notes
from culture.net.auth.agent_users import AgentUsers
from culture.net.auth.authenticator_chain import NO_AUTHENTICATORS
from culture.net.auth.custom_authenticators import Authenticators
from culture.net.auth.identification import Identification
from culture.net.auth.worker_pool import WorkerPool
from culture.net.connection import GOODBYE_S, Connection
from culture.net.limits.admission import Admission
from culture.net.limits.history_quota import HistoryQuota
from culture.net.limits.slice_queue import SliceQueue
from culture.net.limits.token_bucket import Rate, TokenBucket
from culture.net.listen.acceptor import Acceptor
from culture.net.listen.exposure import describe, is_exposed
from culture.net.listen.listeners import address_of
from culture.net.listen.origin import Origin
from culture.net.listen.protocol_stack import protocol_factory
from culture.net.listen.tls import Certificate
from culture.net.listen.tls_acceptor import TlsAcceptor
from culture.net.restart.session_keeper import SessionKeeper
from culture.net.sockets.batch_io import BatchIo
from culture.net.sockets.epoll_loop import Arrival, EpollLoop
from culture.net.sockets.socket_transport import SocketTransport
from culture.net.traffic import traffic_of
from culture.systemd.journal import fields

log = logging.getLogger(__name__)

TICK_S: Final = 1.0
# Only a peer that catches up after an outage gets this much output in one flush.
LARGE_BYTES: Final = 65536
# Lines that the fast path may handle before their history size is charged.
LINES_PER_CHARGE: Final = 512
# Repeated refusals do not flood the journal: one entry per reason in this time.
LOG_INTERVAL_S: Final = 60.0


class Driver:
    """Connects the IRC core to sockets, timers, worker threads and the journal."""

    def __init__(
        self,
        ircd: Ircd,
        authenticator: Authenticator | None = None,
        keeper: SessionKeeper | None = None,
        batch_io: BatchIo | None = None,
        agents: AgentUsers | None = None,
        authenticators: Authenticators = NO_AUTHENTICATORS,
    ) -> None:
        """Without `keeper` no session survives a restart; without `agents` no client counts as an agent."""
        self.ircd = ircd
        ircd.traffic_of = self._traffic_of
        self.keeper = keeper
        self._drain = ircd.drain if keeper is None else functools.partial(_drain, ircd, keeper)
        self._worker_pool = WorkerPool(ircd, authenticator, self._settle)
        self._slices = SliceQueue(ircd, self.connection_of, self._settle)
        self.admission = Admission(lambda: ircd.limits)
        self._loop = asyncio.get_running_loop()
        # Custom authenticators of the operator. A reload may replace them.
        self.authenticators = authenticators
        self.agents = agents or AgentUsers(ircd.name, passwd=Path(os.devnull))
        self._identification = Identification(self.agents, self.now, lambda: ircd.config.names_unix_users)
        self.history_quota = HistoryQuota(lambda: ircd.config.history, self.now)
        self._logged_at: dict[str, float] = {}
        self._connections: dict[Session, Connection] = {}
        # Connections with buffered output, because the client reads slowly.
        self.behind: set[Connection] = set()
        self.links: set[Connection] = set()
        # Links, and connections that are still proving that they are links.
        self._peers: set[Connection] = set()
        # The addresses of all listening sockets.
        self.addresses: list[Address] = []
        self._acceptors: list[Acceptor] = []
        self._epoll_loop = EpollLoop(self._before_dispatch, self._flush, batch_io, self._on_input)
        self.on_tick: Callable[[], None] = lambda: None
        self.is_awake = False
        # Another process has taken over the sessions: this one must not act any more.
        self.has_left = False
        # Set when a connection closes or a question is answered.
        self._progress = asyncio.Event()

    def serve(
        self,
        listeners: list[socket.socket],
        carrier: Carrier = PLAIN,
        certificate: Certificate | None = None,
    ) -> None:
        """Accept clients on these sockets. A carrier with TLS needs the certificate."""
        make_protocol, identify = protocol_factory(carrier, self), self._identification.identify
        for listener in listeners:
            if carrier.is_tls:
                assert certificate is not None
                context = certificate.context
                self._acceptors.append(
                    TlsAcceptor(self, self._epoll_loop, listener, make_protocol, context, identify)
                )
            else:
                self._acceptors.append(Acceptor(self._epoll_loop, listener, make_protocol, identify))
            address = address_of(listener)
            self.addresses.append(address)
            log.info("listening on %s", describe(address, carrier), extra=fields("listening"))
            if is_exposed(address, carrier):
                log.warning("%s has no TLS: anyone on the network path can read and change messages", address)

    async def keep_time(self) -> None:
        """Call `tick` every TICK_S seconds."""
        while True:
            await asyncio.sleep(TICK_S)
            self.tick()

    def tick(self) -> None:
        """Run the periodic work of core, links and keeper. An error in one does not stop the others."""
        ticks = [lambda: self.ircd.tick(self._give_up), self.on_tick]
        if self.keeper is not None:
            ticks.append(self.keeper.tick)
        for tick in ticks:
            try:
                tick()
            except Exception:
                log.exception("periodic work failed; the server goes on")
        self.wake()

    def _give_up(self, session: Session) -> None:
        if (connection := self._connections.get(session)) is not None:
            connection.give_up()

    async def stop(self) -> None:
        """Stop accepting, close all sessions, and wait until the clients have read the reason."""
        for acceptor in self._acceptors:
            acceptor.close()
        self.ircd.close_all(list(self.ircd.sessions), "Server is stopping")
        if self.keeper is not None:
            self.keeper.end()
        self._worker_pool.stop()
        self._flush()
        await self._wait_until(lambda: not self._connections)
        self._identification.close()
        self._epoll_loop.close()

    async def leave(self, keeper: SessionKeeper) -> None:
        """Hand all sessions to the next process; close those that cannot be kept."""
        for acceptor in self._acceptors:
            acceptor.close()
        unkept = [session for session in self.ircd.sessions if not keeper.keeps(session)]
        self.ircd.close_all(unkept, "Server is restarting")
        self._flush()
        await self._wait_until(lambda: self._connections.keys().isdisjoint(unkept))
        self._epoll_loop.stop()
        # The next process does not get the answers to questions that this one asked.
        await self._wait_until(lambda: not any(session.question for session in self.ircd.sessions))
        for session in list(self.ircd.sessions):
            while session.question is not None:
                self.ircd.unanswered(session.question)
        self._flush()
        self.has_left = keeper.leave()
        if self.has_left:
            self._worker_pool.stop()
            self._identification.close()
        else:
            await self.stop()

    async def _wait_until(self, is_over: Callable[[], bool]) -> None:
        """Wait until `is_over` returns true, for at most GOODBYE_S."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GOODBYE_S):
                while not is_over():
                    self._progress.clear()
                    await self._progress.wait()

    @property
    def status(self) -> str:
        """Return the status line for `systemctl status`."""
        state = self.ircd.state
        clients, channels = _count(state.users_here, "client"), _count(len(state.channels), "channel")
        links = f", {_count(len(self.links), 'link')}" if self.links else ""
        return f"{self.ircd.name}: {clients} in {channels}{links}"

    def connection_of(self, session: Session) -> Connection | None:
        """Return the connection of a session, or None if it is closed."""
        return self._connections.get(session)

    def _traffic_of(self, session: Session) -> Traffic:
        connection = self._connections.get(session)
        return NO_TRAFFIC if connection is None else traffic_of(connection.transport)

    def now(self) -> float:
        """Return the event loop's monotonic time in seconds."""
        return self._loop.time()

    def make_transport(
        self, sock: socket.socket, protocol: asyncio.Protocol, address: Any = None
    ) -> SocketTransport:
        """Return a transport for a kept client or a dialed link."""
        return SocketTransport(self._epoll_loop, sock, address, protocol)

    def call_later(self, delay_s: float, run: Callable[..., None], *arguments: Any) -> None:
        """Call `run` on the event loop after a delay."""
        self._loop.call_later(delay_s, run, *arguments)

    def bucket_for(self, origin: Origin) -> TokenBucket | None:
        """Return the token bucket of a new connection, or None without a rate limit."""
        limits = self.ircd.limits
        if origin.is_local:
            rate = _rate(limits.local_rate_lines_per_s, limits.local_burst_lines)
        else:
            rate = _rate(limits.rate_lines_per_s, limits.burst_lines)
        return TokenBucket(rate, self.now()) if rate.per_s else None

    @property
    def unmetered_lines(self) -> int:
        """Return how many lines the fast path may handle for a client without a rate limit."""
        return LINES_PER_CHARGE if self.history_quota.is_on and self.ircd.record.is_wanted else UNLIMITED

    def charge_for_history(self, session: Session, size: int) -> None:
        """Charge a client for what it wrote to history, and log when the quota throttles it."""
        if self.history_quota.charge(session.client, size) and self._may_log("history"):
            what = "%s is over its history quota and is throttled"
            log.warning(what, session.peer, extra=fields(peer=session.peer))

    def _may_log(self, why: str) -> bool:
        """Return whether the last log entry for this reason is at least LOG_INTERVAL_S old."""
        now = self.now()
        if now - self._logged_at.get(why, -LOG_INTERVAL_S) < LOG_INTERVAL_S:
            return False
        self._logged_at[why] = now
        return True

    def refusal(self, origin: Origin) -> str | None:
        """Return why the limits refuse a connection and log it, or return None."""
        why = self.admission.refusal(origin)
        if why is not None and self._may_log(why):
            log.warning(
                "refusing connections, for example from %s: %s",
                origin.peer,
                why,
                extra=fields(peer=origin.peer),
            )
        return why

    def opened(self, connection: Connection) -> None:
        """Count a new connection and keep it over restarts, unless it is a link."""
        self.admission.enter(connection.origin)
        self._connections[connection.session] = connection
        if self.keeper is not None and connection.session.phase is not LINKED:
            self.keeper.opened(connection)

    def linked(self, connection: Connection) -> None:
        """Mark a connection as a link: the peer has proved its identity."""
        self.admission.registered()
        self.proving(connection)
        self.links.add(connection)

    def proving(self, connection: Connection) -> None:
        """Note that a connection claims to be a peer. Links are not kept over a restart: peers reconnect."""
        if connection not in self._peers:
            self._peers.add(connection)
            if self.keeper is not None:
                self.keeper.released(connection)

    def registered(self, connection: Connection) -> None:
        """Count and log a client that has registered."""
        session = connection.session
        self.admission.registered()
        extra = fields("client-registered", nick=session.user.nick, peer=session.peer)
        log.info("%s (%s) registered", session.user.nick, session.peer, extra=extra)

    def closed(self, connection: Connection) -> None:
        """Forget a closed connection and log it."""
        session = connection.session
        self.admission.leave(connection.origin, was_registered=connection.is_registered)
        del self._connections[session]
        self.behind.discard(connection)
        self._progress.set()
        if connection in self._peers:
            # The mesh logs the end of a link.
            self._peers.discard(connection)
            self.links.discard(connection)
            self.wake()
            return
        extra = fields("client-gone", nick=session.user.nick, peer=session.peer)
        log.info(
            "%s (%s) disconnected: %s", session.user.nick, session.peer, session.close_reason, extra=extra
        )
        self.wake()

    def _settle(self, session: Session) -> None:
        if (connection := self._connections.get(session)) is not None:
            connection.settle()
        self._progress.set()

    def wake(self) -> None:
        """Schedule a flush for the end of this loop tick, after all input was handled."""
        if not self.is_awake:
            self.is_awake = True
            self._loop.call_soon(self._flush)

    def flush_early(self) -> None:
        """Flush now; a scheduled flush at the end of the tick still happens."""
        was_awake = self.is_awake
        self._flush()
        self.is_awake = was_awake

    def _before_dispatch(self) -> None:
        """Make `wake` a no-op until the flush that follows the dispatch."""
        self.is_awake = True

    def _on_input(self, arrivals: Iterator[Arrival]) -> None:
        """Process all input in the order in which it arrived, on the fast path where possible."""
        while True:
            try:
                left = deliver_plain_messages(self.ircd, arrivals)
            except FastPathError as error:
                self._epoll_loop.run_guarded(error.key, self._connections[error.session].give_up)
                continue
            if left is None:
                return
            fd, rest = left
            if rest is not None:
                self._epoll_loop.deliver(fd, rest)
            elif self.ircd.record.is_full:
                self.flush_early()

    def _flush(self) -> None:
        if self.has_left:
            return
        self.is_awake = False
        log_notes(self.ircd.notes.take())
        for connection in tuple(self.behind):
            connection.check_backlog()
        while pending := self._drain():
            self._write(pending)
            if self.links and any(_is_large(pending.get(each.session, b"")) for each in self.links):
                # If the socket accepted it at once, there is room for more history that the peer lacks.
                self.wake()
        self.ircd.delivered()
        # Only now, so that answers see everything that was committed.
        self._worker_pool.take()
        self._slices.take()

    def _write(self, pending: dict[Session, Output]) -> None:
        fds = [session.outlet for session in pending]
        chunks = cast(list[bytes], [*pending.values()])
        # The common case. Checking each session would slow a fan-out to a hundred clients by 2.5 %.
        if not all(fds) or list in map(type, chunks):
            fds, chunks = [], []
            for session, output in pending.items():
                self._prepare(session, join_output(output), fds, chunks)
        self._epoll_loop.write(fds, chunks)

    def _prepare(self, session: Session, data: bytes, fds: list[int], chunks: list[bytes]) -> None:
        if session.phase is CLOSED:
            if (connection := self._connections.get(session)) is not None:
                connection.hang_up(data)
        elif not data:
            return
        elif session.outlet:
            fds.append(session.outlet)
            chunks.append(data)
        elif session.write is not None:
            session.write(data)


def _drain(ircd: Ircd, keeper: SessionKeeper) -> dict[Session, Output]:
    pending = ircd.drain()
    keeper.write_down()
    return pending


def _is_large(output: Output) -> bool:
    return len(join_output(output)) >= LARGE_BYTES


@functools.lru_cache(maxsize=8)
def _rate(per_s: int, burst: int) -> Rate:
    """Return one shared Rate for all connections with the same limits."""
    return Rate(per_s, burst)


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
