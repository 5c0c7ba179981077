"""Drives the core: accepts, feeds it what arrives, and flushes once per turn of the loop."""

import asyncio
import contextlib
import logging
import socket
from typing import Final

from culture.ircd.core import Ircd
from culture.ircd.session import Session
from culture.net.connection import GOODBYE_S, Connection
from culture.net.listeners import address_of
from culture.systemd.journal import fields

log = logging.getLogger(__name__)

TICK_S: Final = 1.0


class Driver:
    def __init__(self, ircd: Ircd) -> None:
        self.ircd = ircd
        self._loop = asyncio.get_running_loop()
        self._connections: dict[Session, Connection] = {}
        self._servers: list[asyncio.Server] = []
        self._is_awake = False
        self._nobody_left = asyncio.Event()

    async def serve(self, listeners: list[socket.socket]) -> None:
        for listener in listeners:
            if listener.family == socket.AF_UNIX:
                server = await self._loop.create_unix_server(lambda: Connection(self), sock=listener)
            else:
                server = await self._loop.create_server(lambda: Connection(self), sock=listener)
            self._servers.append(server)
            log.info("listening on %s", address_of(listener), extra=fields("listening"))

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
        self._flush()
        if self._connections:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._nobody_left.wait(), GOODBYE_S)

    @property
    def status(self) -> str:
        """What `systemctl status` shows."""
        state = self.ircd.state
        return f"{self.ircd.name}: {len(state.users)} clients in {len(state.channels)} channels"

    def opened(self, connection: Connection) -> None:
        self._connections[connection.session] = connection

    def registered(self, connection: Connection) -> None:
        session = connection.session
        extra = fields("client-registered", nick=session.user.nick, peer=session.peer)
        log.info("%s (%s) is here", session.user.nick, session.peer, extra=extra)

    def closed(self, connection: Connection) -> None:
        session = connection.session
        del self._connections[session]
        if not self._connections:
            self._nobody_left.set()
        extra = fields("client-gone", nick=session.user.nick, peer=session.peer)
        log.info("%s (%s) is gone: %s", session.user.nick, session.peer, session.close_reason, extra=extra)
        self.wake()

    def wake(self) -> None:
        """Flush before the loop waits again, after everything that arrived in this turn was handled."""
        if not self._is_awake:
            self._is_awake = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._is_awake = False
        # Letting go of a reader that is behind is news to others.
        while dirty := self.ircd.drain():
            for session in dirty:
                if (connection := self._connections.get(session)) is not None:
                    connection.flush()
