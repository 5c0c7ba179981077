"""One client's socket: bytes in, lines to the core; what the core queued, out."""

import asyncio
import ipaddress
import logging
import socket
from typing import TYPE_CHECKING, Final, cast

from culture.ircd.session import Phase, Session
from culture.protocol.framing import LineBuffer
from culture.systemd.journal import fields

if TYPE_CHECKING:
    from culture.net.driver import Driver

log = logging.getLogger(__name__)

WRITE_BUFFER_BYTES: Final = 65536
"""What the transport may hold. Beyond it output waits in the session, where it is counted and bounded."""
GOODBYE_S: Final = 2.0
"""How long a client gets to read the last line."""


class Connection(asyncio.Protocol):
    def __init__(self, driver: "Driver") -> None:
        self._driver = driver
        self._lines = LineBuffer()
        self._is_full = False
        self._transport: asyncio.Transport
        self.session: Session

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport = cast(asyncio.Transport, transport)
        transport.set_write_buffer_limits(high=WRITE_BUFFER_BYTES)
        host, peer = _origin(transport, self._driver.ircd.name)
        self.session = self._driver.ircd.connect(host, peer)
        self._driver.opened(self)

    def data_received(self, data: bytes) -> None:
        ircd, session = self._driver.ircd, self.session
        was_registering = session.phase is Phase.REGISTERING
        try:
            for line in self._lines.feed(data):
                ircd.received(session, line)
        except Exception:
            # A bug that one client's line brings out costs that client its connection, and nobody else.
            log.exception("closing %s", session.peer, extra=fields(peer=session.peer))
            ircd.close(session, "Internal error")
        if was_registering and session.phase is Phase.REGISTERED:
            self._driver.registered(self)
        self._driver.wake()

    def connection_lost(self, error: Exception | None) -> None:
        reason = f"Connection lost: {error.strerror}" if isinstance(error, OSError) else "Connection closed"
        self._driver.ircd.disconnected(self.session, reason)
        self._driver.closed(self)

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False
        self.flush()

    def flush(self) -> None:
        """Write what waits, unless the reader is behind; hang up if the session is over."""
        if self._transport.is_closing():
            return
        if self.session.phase is Phase.CLOSED:
            self._hang_up()
        elif self._is_full:
            self._driver.ircd.held_back(self.session)
        elif self.session.outbox:
            self._transport.write(self.session.take_output())

    def _hang_up(self) -> None:
        if self._is_full:
            # Whoever does not read will not read the goodbye either; waiting would keep the socket for ever.
            self._transport.abort()
        else:
            self._transport.write(self.session.take_output())
            self._transport.close()
            asyncio.get_running_loop().call_later(GOODBYE_S, self._transport.abort)


def _origin(transport: asyncio.Transport, server: str) -> tuple[str, str]:
    """What others see as a client's host, and what the log calls it. This machine has the server's name."""
    if transport.get_extra_info("socket").family == socket.AF_UNIX:
        return server, "unix socket"
    host, port = transport.get_extra_info("peername")[:2]
    address = ipaddress.ip_address(host.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    peer = f"[{address}]:{port}" if address.version == 6 else f"{address}:{port}"
    if address.is_loopback:
        return server, peer
    # A leading colon would end the parameters of a line.
    shown = str(address)
    return ("0" + shown if shown.startswith(":") else shown), peer
