"""Accept connections on a plain listening socket."""

import asyncio
import logging
import socket
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from culture.net.sockets.epoll_loop import ACCEPT, EpollLoop
from culture.net.sockets.socket_transport import SocketTransport

log = logging.getLogger(__name__)

ACCEPT_BATCH: Final = 64
LOOPBACK: Final = frozenset({"127.0.0.1", "::1"})
# Congestion control for clients on this machine: loopback is never congested, and pacing as in bbr or cubic
# costs a fifth of each send (measured: 5.2 us instead of 4.3).
LOOPBACK_CONGESTION_CONTROL: Final = b"reno"
# Pause after accept() failed, usually because the process is out of file descriptors.
RETRY_AFTER_S: Final = 1.0

# Finds the local Unix user of a new connection and passes it to the callback; None if it is not known.
Identify = Callable[[socket.socket, Callable[[int | None], None]], None]


class Acceptor:
    """Accepts clients on one listening socket and registers each with the epoll loop."""

    def __init__(
        self,
        epoll_loop: EpollLoop,
        listener: socket.socket,
        make_protocol: Callable[[], asyncio.BaseProtocol],
        identify: Identify = lambda sock, then: then(None),
    ) -> None:
        """Start accepting; nothing is read from a client before `identify` has called back."""
        self._identify = identify
        self._epoll_loop = epoll_loop
        self._listener = listener
        self._make_protocol = make_protocol
        listener.setblocking(False)
        epoll_loop.register(listener.fileno(), self)
        self._watch()

    def close(self) -> None:
        """Stop listening."""
        if self._listener.fileno() >= 0:
            self._epoll_loop.unregister(self._listener.fileno())
            self._listener.close()

    def on_writable(self) -> None:
        """Do nothing: nobody writes to a listening socket."""

    def on_partial_write(self, data: bytes, sent: int) -> None:
        """Do nothing: nobody writes to a listening socket."""

    def rearm(self) -> None:
        """Do nothing: the socket is level-triggered, so epoll reports it until the backlog is empty."""

    def abort(self) -> None:
        """Stop listening."""
        self.close()

    def on_readable(self, _: int) -> None:
        """Accept up to ACCEPT_BATCH clients from the backlog."""
        for _ in range(ACCEPT_BATCH):
            try:
                sock, address = self._listener.accept()
            except ConnectionAbortedError:
                continue
            self._accept(sock, address)

    def on_error(self, error: OSError) -> None:
        """Pause for RETRY_AFTER_S after accept() failed."""
        log.warning("cannot accept: %s; trying again in %g s", error.strerror, RETRY_AFTER_S)
        self._epoll_loop.set_interest(self._listener.fileno(), 0)
        self._epoll_loop.loop.call_later(RETRY_AFTER_S, self._watch)

    def _watch(self) -> None:
        if self._listener.fileno() >= 0:
            self._epoll_loop.set_interest(self._listener.fileno(), ACCEPT)

    def _accept(self, sock: socket.socket, address: Any) -> None:
        try:
            sock.setblocking(False)
            if sock.family != socket.AF_UNIX:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if address[0] in LOOPBACK:
                    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, LOOPBACK_CONGESTION_CONTROL)
        except OSError:
            # The client has disconnected already.
            sock.close()
            return
        self._identify(sock, partial(self._identified, sock, address))

    def _identified(self, sock: socket.socket, address: Any, uid: int | None) -> None:
        if self._listener.fileno() < 0:
            # The server stopped listening meanwhile.
            sock.close()
            return
        try:
            self._start(sock, address, uid)
        except Exception:
            # A bug in the protocol factory costs this client its connection, not the server.
            log.exception("closing a connection")
            sock.close()

    def _start(self, sock: socket.socket, address: Any, uid: int | None) -> None:
        SocketTransport(self._epoll_loop, sock, address, self._make_protocol(), uid).begin()
