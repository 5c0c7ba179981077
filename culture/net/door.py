"""Where clients come in: a listening socket that makes a wire of each."""

import asyncio
import logging
import socket
from collections.abc import Callable
from typing import Any, Final

from culture.net.wire import Wire
from culture.net.wires import ARRIVALS, Wires

log = logging.getLogger(__name__)

ACCEPTED_AT_ONCE: Final = 64
LOOPBACK: Final = frozenset({"127.0.0.1", "::1"})
PLAIN_CONTROL: Final = b"reno"
"""For clients of this machine: nothing is congested on the way to them, and what plans the pace of packets
costs a fifth of each send (measured: 4.3 us instead of 5.2 with bbr or cubic)."""
SHUT_S: Final = 1.0
"""How long nobody is let in once that failed, mostly since there is no room for another socket."""


class Door:
    """A listening socket: makes a wire of each client that comes."""

    def __init__(
        self, wires: Wires, listener: socket.socket, meet: Callable[[], asyncio.BaseProtocol]
    ) -> None:
        self._wires = wires
        self._listener = listener
        self._meet = meet
        listener.setblocking(False)
        wires.hold(listener.fileno(), self)
        self._open()

    def close(self) -> None:
        if self._listener.fileno() >= 0:
            self._wires.let_go(self._listener.fileno())
            self._listener.close()

    def writable(self) -> None:
        """Never asked for, nor is the next."""

    def fall_behind(self, data: bytes, sent: int) -> None: ...

    def look_again(self) -> None:
        """It is looked after until nobody is left who came."""

    def abort(self) -> None:
        self.close()

    def recv(self, _: int) -> None:
        """Those who came: each has something to read of its own later."""
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                sock, address = self._listener.accept()
            except ConnectionAbortedError:
                continue
            self._welcome(sock, address)

    def broke(self, error: OSError) -> None:
        log.warning("cannot accept: %s; trying again in %g s", error.strerror, SHUT_S)
        self._wires.watch(self._listener.fileno(), 0)
        self._wires.loop.call_later(SHUT_S, self._open)

    def _open(self) -> None:
        if self._listener.fileno() >= 0:
            self._wires.watch(self._listener.fileno(), ARRIVALS)

    def _welcome(self, sock: socket.socket, address: Any) -> None:
        try:
            sock.setblocking(False)
            if sock.family != socket.AF_UNIX:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if address[0] in LOOPBACK:
                    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, PLAIN_CONTROL)
        except OSError:
            # It is gone already.
            sock.close()
            return
        try:
            self._let_in(sock, address)
        except Exception:
            # A bug costs the one that brings it out.
            log.exception("closing a connection")
            sock.close()

    def _let_in(self, sock: socket.socket, address: Any) -> None:
        Wire(self._wires, sock, address, self._meet()).begin()
