"""One client's socket: bytes in, lines to the core; what the core queued, out."""

import asyncio
import contextlib
import logging
import os
from typing import TYPE_CHECKING, Final, cast

from culture.ircd.session import Phase, Session
from culture.net.bucket import Bucket
from culture.net.origin import Origin, origin_of
from culture.net.trust import is_trusted
from culture.protocol.framing import BODY_BYTES, CRLF, LineBuffer
from culture.protocol.line import format_line
from culture.systemd.journal import fields

if TYPE_CHECKING:
    from culture.net.driver import Driver

log = logging.getLogger(__name__)

WRITE_BUFFER_BYTES: Final = 65536
"""What the transport may hold. Beyond it output waits in the session, where it is counted and bounded."""
GOODBYE_S: Final = 2.0
"""How long a client gets to read the last line."""
SHORTEST_PAUSE_S: Final = 0.02
"""A client that is held back is heard in small batches, not line by line."""
LINES_PER_TURN: Final = 200
"""Of one client, before the others have their turn: a few milliseconds."""


class Connection(asyncio.Protocol):
    def __init__(self, driver: "Driver") -> None:
        self._driver = driver
        self._lines = LineBuffer()
        self._is_full = False
        self._bucket: Bucket | None = None
        self._is_paused = False
        self._waiting: list[bytes] = []
        """Lines that came faster than they may. Nothing more is read while there are any."""
        self._transport: asyncio.Transport
        self._fd: int | None = None
        """The socket, where what is written to it is what the client reads: neither TLS nor WebSocket."""
        self.origin: Origin
        self.session: Session
        self.is_registered = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.begin(cast(asyncio.Transport, transport), origin_of(transport))

    def begin(self, transport: asyncio.Transport, origin: Origin) -> None:
        """As `connection_made`, where somebody else knows where the client comes from."""
        ircd, host = self._driver.ircd, origin.host(self._driver.ircd.name)
        if (why := self._driver.refusal(origin)) is not None:
            _turn_away(transport, f"Closing Link: {host} ({why})")
            return
        self._transport, self.origin = transport, origin
        transport.set_write_buffer_limits(high=WRITE_BUFFER_BYTES)
        self._fd = _plain_socket(transport)
        self.session = ircd.connect(host, origin.peer)
        self.session.is_local = origin.is_local
        self.session.is_secure = origin.is_secure
        self.session.fingerprint = origin.fingerprint
        self.session.is_trusted = is_trusted(origin, ircd.config.accounts.trusted)
        self._bucket = self._driver.bucket_for(origin)
        self._driver.opened(self)

    def data_received(self, data: bytes) -> None:
        lines = self._lines.feed(data)
        if self._bucket is not None:
            lines = self._within_rate(self._bucket, lines, len(data))
        self._pass_on(lines)

    def _within_rate(self, bucket: Bucket, lines: list[bytes], size: int) -> list[bytes]:
        """The lines whose turn it is. If there are more, they wait, and so does what is still unread."""
        now = self._driver.now()
        if not lines:
            # What never ends a line is not free either.
            bucket.owe(size // BODY_BYTES)
        ready = 0 if self._is_paused else bucket.take(min(len(lines), LINES_PER_TURN), now)
        self._waiting += lines[ready:]
        if not self._is_paused and self._is_too_fast(bucket, now):
            self._is_paused = True
            self._transport.pause_reading()
            self._wait(bucket, now)
        return lines[:ready]

    def _is_too_fast(self, bucket: Bucket, now: float) -> bool:
        return bool(self._waiting) or bucket.wait_s(now) > SHORTEST_PAUSE_S

    def _wait(self, bucket: Bucket, now: float) -> None:
        wait_s = bucket.wait_s(now)
        self._driver.call_later(max(wait_s, SHORTEST_PAUSE_S) if wait_s else 0.0, self._go_on, bucket)

    def _go_on(self, bucket: Bucket) -> None:
        if self.session.phase is Phase.CLOSED or self._transport.is_closing():
            return
        now = self._driver.now()
        count = bucket.take(min(len(self._waiting), LINES_PER_TURN), now)
        ready, self._waiting[:count] = self._waiting[:count], []
        self._pass_on(ready)
        if self._is_too_fast(bucket, now):
            self._wait(bucket, now)
        else:
            self._is_paused = False
            self._transport.resume_reading()

    def _pass_on(self, lines: list[bytes]) -> None:
        ircd, session = self._driver.ircd, self.session
        try:
            for line in lines:
                ircd.received(session, line)
        except Exception:
            # A bug that one client's line brings out costs that client its connection, and nobody else.
            log.exception("closing %s", session.peer, extra=fields(peer=session.peer))
            ircd.close(session, "Internal error")
        self.settle()

    def settle(self) -> None:
        """After the core learned something about the client: it may have let it in."""
        if not self.is_registered and self.session.phase is Phase.REGISTERED:
            self.is_registered = True
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
            self._write(self.session.take_output())

    def _write(self, data: bytes) -> None:
        """To the socket itself while it takes all; the transport gets only what is left over."""
        if self._fd is not None and not self._transport.get_write_buffer_size():
            # Full, or gone: the transport waits, or finds out and tells.
            with contextlib.suppress(OSError):
                data = data[os.write(self._fd, data) :]
        if data:
            self._transport.write(data)

    def _hang_up(self) -> None:
        if self._is_full:
            # Whoever does not read will not read the goodbye either; waiting would keep the socket for ever.
            self._transport.abort()
        else:
            self._transport.write(self.session.take_output())
            self._transport.close()
            asyncio.get_running_loop().call_later(GOODBYE_S, self._transport.abort)


def _turn_away(transport: asyncio.Transport, why: str) -> None:
    transport.set_protocol(asyncio.Protocol())
    transport.write(format_line("ERROR", why, trailing=True).encode() + CRLF)
    # Clients introduce themselves at once; to close over unread words is a reset, which takes the line along.
    if transport.can_write_eof():
        transport.write_eof()
        asyncio.get_running_loop().call_later(GOODBYE_S, transport.abort)
    else:
        transport.close()


def _plain_socket(transport: asyncio.Transport) -> int | None:
    sock = transport.get_extra_info("socket")
    return None if sock is None or transport.get_extra_info("ssl_object") is not None else sock.fileno()
