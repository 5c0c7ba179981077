"""Accept TLS connections; a handshake counts against the limits and has a timeout."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, cast

from culture.net.connection import GOODBYE_S, turn_away
from culture.net.listen.acceptor import Acceptor, Identify
from culture.net.listen.origin import Origin, origin_at, secured
from culture.net.listen.proxy_protocol import ProxiedClient
from culture.net.listen.tls import HANDSHAKE_S
from culture.net.sockets.epoll_loop import EpollLoop
from culture.net.sockets.socket_transport import SocketTransport

if TYPE_CHECKING:
    from culture.net.driver import Driver

# The fatal TLS alert access_denied (RFC 8446, 6.2) for refused clients: an IRC error would need a handshake.
ACCESS_DENIED: Final = bytes([21, 3, 3, 0, 2, 2, 49])


class TlsAcceptor(Acceptor):
    """Accepts TLS clients on one listening socket."""

    def __init__(
        self,
        driver: "Driver",
        epoll_loop: EpollLoop,
        listener: socket.socket,
        make_protocol: Callable[[], asyncio.Protocol],
        context: ssl.SSLContext,
        identify: Identify,
    ) -> None:
        self._driver = driver
        self._context = context
        self._handshakes: set[asyncio.Task[None]] = set()
        super().__init__(epoll_loop, listener, make_protocol, identify)

    def _start(self, sock: socket.socket, address: Any, uid: int | None) -> None:
        origin = origin_at(sock, address, uid)
        if self._driver.refusal(origin) is not None:
            transport = SocketTransport(self._epoll_loop, sock, address, asyncio.Protocol())
            transport.begin()
            turn_away(transport, ACCESS_DENIED)
            return
        handshake = _Handshake(self._driver, origin, cast(ProxiedClient, self._make_protocol()))
        task = self._epoll_loop.loop.create_task(self._run_handshake(sock, handshake))
        self._handshakes.add(task)
        task.add_done_callback(self._handshakes.discard)
        task.add_done_callback(handshake.end)

    async def _run_handshake(self, sock: socket.socket, handshake: "_Handshake") -> None:
        # Most failures are clients that do not speak TLS or that disconnected.
        with contextlib.suppress(OSError):
            await self._epoll_loop.loop.connect_accepted_socket(
                lambda: handshake,
                sock,
                ssl=self._context,
                ssl_handshake_timeout=HANDSHAKE_S,
                ssl_shutdown_timeout=GOODBYE_S,
            )


class _Handshake(asyncio.Protocol):
    """Counts against the connection limits during the handshake, then hands over to the client's protocol."""

    def __init__(self, driver: "Driver", origin: Origin, client: ProxiedClient) -> None:
        self._driver = driver
        self._origin = origin
        self._client = client
        self._is_over = False
        driver.admission.enter(origin)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.end()
        transport.set_protocol(cast(asyncio.Protocol, self._client))
        self._client.begin(cast(asyncio.Transport, transport), secured(self._origin, transport))

    def end(self, _task: asyncio.Task[None] | None = None) -> None:
        if not self._is_over:
            self._is_over = True
            self._driver.admission.leave(self._origin, was_registered=False)
