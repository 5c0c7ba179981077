"""Drives the core: accepts, feeds it what arrives, and flushes once per turn of the loop."""

import asyncio
import contextlib
import functools
import logging
import socket
from collections.abc import Callable
from typing import Any, Final

from culture.config.address import PLAIN, Carrier
from culture.ircd.auth import Authenticator
from culture.ircd.core import Ircd
from culture.ircd.session import Session
from culture.net.admission import Admission
from culture.net.answers import Answers
from culture.net.bucket import Bucket, Rate
from culture.net.connection import GOODBYE_S, Connection
from culture.net.listeners import address_of
from culture.net.origin import Origin
from culture.net.reach import describe, is_exposed
from culture.net.reception import reception
from culture.net.tls import HANDSHAKE_S, Certificate
from culture.systemd.journal import fields

log = logging.getLogger(__name__)

TICK_S: Final = 1.0
REFUSALS_TOLD_S: Final = 60.0
"""Who hammers at the door fills no journal: one entry per reason in so long."""


class Driver:
    def __init__(self, ircd: Ircd, authenticator: Authenticator | None = None) -> None:
        self.ircd = ircd
        self._answers = Answers(ircd, authenticator, self._settle)
        self.admission = Admission(lambda: ircd.limits)
        self._loop = asyncio.get_running_loop()
        self._refusals_told_at: dict[str, float] = {}
        self._connections: dict[Session, Connection] = {}
        self._servers: list[asyncio.Server] = []
        self._is_awake = False
        self._nobody_left = asyncio.Event()

    async def serve(
        self,
        listeners: list[socket.socket],
        carrier: Carrier = PLAIN,
        certificate: Certificate | None = None,
    ) -> None:
        """Accept clients. A carrier with TLS needs the certificate."""
        tls: dict[str, Any] = {}
        if carrier.is_tls:
            assert certificate is not None
            tls = {"ssl": certificate.context, "ssl_handshake_timeout": HANDSHAKE_S}
            tls["ssl_shutdown_timeout"] = GOODBYE_S
        meet = reception(carrier, lambda: Connection(self), lambda: self.ircd.config)
        for listener in listeners:
            if listener.family == socket.AF_UNIX:
                server = await self._loop.create_unix_server(meet, sock=listener, **tls)
            else:
                server = await self._loop.create_server(meet, sock=listener, **tls)
            self._servers.append(server)
            address = address_of(listener)
            log.info("listening on %s", describe(address, carrier), extra=fields("listening"))
            if is_exposed(address, carrier):
                log.warning(
                    "%s has no TLS: whoever is on the way to it can read and change what is said", address
                )

    async def keep_time(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            self.ircd.tick()
            self.wake()

    async def stop(self) -> None:
        """Accept nobody any more, say goodbye to everyone, and let it be read."""
        for server in self._servers:
            server.close()
        for session in list(self.ircd.sessions):
            self.ircd.close(session, "Server is stopping")
        self._answers.stop()
        self._flush()
        if self._connections:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._nobody_left.wait(), GOODBYE_S)

    @property
    def status(self) -> str:
        """What `systemctl status` shows."""
        state = self.ircd.state
        clients, channels = _count(len(state.users), "client"), _count(len(state.channels), "channel")
        return f"{self.ircd.name}: {clients} in {channels}"

    def now(self) -> float:
        return self._loop.time()

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

    def registered(self, connection: Connection) -> None:
        session = connection.session
        self.admission.registered()
        extra = fields("client-registered", nick=session.user.nick, peer=session.peer)
        log.info("%s (%s) is here", session.user.nick, session.peer, extra=extra)

    def closed(self, connection: Connection) -> None:
        session = connection.session
        self.admission.leave(connection.origin, was_registered=connection.is_registered)
        del self._connections[session]
        if not self._connections:
            self._nobody_left.set()
        extra = fields("client-gone", nick=session.user.nick, peer=session.peer)
        log.info("%s (%s) is gone: %s", session.user.nick, session.peer, session.close_reason, extra=extra)
        self.wake()

    def _settle(self, session: Session) -> None:
        if (connection := self._connections.get(session)) is not None:
            connection.settle()

    def wake(self) -> None:
        """Flush before the loop waits again, after everything that arrived in this turn was handled."""
        if not self._is_awake:
            self._is_awake = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._is_awake = False
        self._answers.take()
        # Letting go of a reader that is behind is news to others.
        while dirty := self.ircd.drain():
            for session in dirty:
                if (connection := self._connections.get(session)) is not None:
                    connection.flush()


@functools.lru_cache(maxsize=8)
def _rate(per_s: int, burst: int) -> Rate:
    """One for all connections that have the same."""
    return Rate(per_s, burst)


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
