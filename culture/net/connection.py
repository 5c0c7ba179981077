"""One client's socket: bytes in, lines to the core; what the core queued, out."""

import asyncio
import logging
from typing import TYPE_CHECKING, Final, cast

from culture.federation.wire import LINE_BYTES as LINK_LINE_BYTES
from culture.ircd.commands.authentication import log_in
from culture.ircd.session import CLOSED, LINKED, REGISTERED, UNLIMITED, Session
from culture.net.bucket import Bucket
from culture.net.chain import authenticate
from culture.net.origin import Origin, origin_of
from culture.net.wire import Keep, Wire
from culture.protocol.framing import BODY_BYTES, CRLF, LineBuffer, lengthened
from culture.protocol.line import format_line
from culture.systemd.journal import fields

if TYPE_CHECKING:
    from culture.net.driver import Driver

log = logging.getLogger(__name__)

GOODBYE_S: Final = 2.0
"""How long a client gets to read the last line."""
SHORTEST_PAUSE_S: Final = 0.02
"""A client that is held back is heard in small batches, not line by line."""
TURN_S: Final = 0.002
"""How long the lines of one client may take before the others have their turn."""
LINES_BETWEEN_LOOKS: Final = 4
"""At the clock."""
LENT: Final = 32
"""Lines at most. Who is quiet for long may then say so many more than the burst."""


class Connection(asyncio.Protocol):
    __slots__ = (
        "_bucket",
        "_driver",
        "_is_over",
        "_is_paused",
        "_lines",
        "_transport",
        "_waiting",
        "is_registered",
        "keep",
        "origin",
        "session",
    )

    def __init__(self, driver: "Driver") -> None:
        self._driver = driver
        self._lines = LineBuffer()
        self._bucket: Bucket | None = None
        self._is_paused = False
        self._waiting: list[bytes] = []
        """Lines that came faster than they may. Nothing more is read while there are any."""
        self._transport: asyncio.Transport
        self.origin: Origin
        self.session: Session
        self.is_registered = False
        self.keep: Keep | None = None
        """Who is told what was read in part, so that another process can go on with it."""
        self._is_over = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.begin(cast(asyncio.Transport, transport), origin_of(transport))

    def begin(self, transport: asyncio.Transport, origin: Origin) -> None:
        """As `connection_made`, where somebody else knows where the client comes from."""
        ircd, host = self._driver.ircd, origin.host(self._driver.ircd.name)
        if (why := self._driver.refusal(origin)) is not None:
            goodbye = format_line("ERROR", f"Closing Link: {host} ({why})", trailing=True)
            turn_away(transport, goodbye.encode() + CRLF)
            return
        self._transport, self.origin = transport, origin
        self.session = ircd.connect(host, origin.peer)
        _connect(self.session, transport)
        self.session.is_local = origin.is_local
        self.session.is_secure = origin.is_secure
        self.session.fingerprint = origin.fingerprint
        known = authenticate(origin, ircd.config.accounts)
        self.session.is_trusted = known is not None
        if known is not None and known.account is not None:
            log_in(ircd, self.session, known.account, "user")
        self._bucket = self._driver.bucket_for(origin)
        self._driver.opened(self)

    def call(self, transport: asyncio.Transport, origin: Origin) -> None:
        """A link that we made."""
        self._transport, self.origin = transport, origin
        self.session = self._driver.ircd.connect(origin.host(self._driver.ircd.name), origin.peer)
        _connect(self.session, transport)
        self.session.phase = LINKED
        self._driver.opened(self)
        self._become_link()

    def go_on(self, transport: asyncio.Transport, origin: Origin, session: Session) -> None:
        """Where another process stopped."""
        self._transport, self.origin, self.session = transport, origin, session
        _connect(session, transport)
        self._bucket = self._driver.bucket_for(origin)
        self._driver.opened(self)
        if session.phase is REGISTERED:
            self.is_registered = True
            self._driver.admission.registered()

    @property
    def transport(self) -> asyncio.Transport:
        return self._transport

    @property
    def half(self) -> bytes:
        """The line that was read in part."""
        return self._lines.half

    @property
    def waiting(self) -> bytes:
        """Lines that were read, and not heard yet."""
        return b"".join(lengthened(line) + CRLF for line in self._waiting)

    def data_received(self, data: bytes) -> None:
        if self.session.phase is CLOSED:
            # It may go on talking while it reads the goodbye.
            return
        lines = self._lines.feed(data)
        if self._bucket is not None:
            self._bucket.owe(-self.session.credit)
        if self.keep is not None:
            self.keep.read(self._lines.half)
        if not lines:
            self.charge(max(len(data), len(self._lines.half)))
        if self._bucket is not None:
            lines = self._within_rate(self._bucket, lines)
        self._pass_on(lines)
        self._slow_down()
        if isinstance(self._transport, Wire):
            self._let_speak(self._transport)

    def charge(self, size: int) -> None:
        """For a read that ended no line: what came, or what is held of the line by now, if that is more.

        All that is held may be written down again, so that single bytes are not free either.
        """
        if self._bucket is not None:
            self._bucket.owe(size // BODY_BYTES)
            self._slow_down()

    def _within_rate(self, bucket: Bucket, lines: list[bytes]) -> list[bytes]:
        """The lines whose turn it is. If there are more, they wait, and so does what is still unread."""
        ready = 0 if self._is_paused else bucket.take(len(lines), self._driver.now())
        self._waiting += lines[ready:]
        return lines[:ready]

    def _let_speak(self, wire: Wire) -> None:
        """By the short way, as much as it may say before its bucket is asked again.

        With the limits as they are by default 500 pairs say half as much again as if it were asked each time.
        """
        may_speak = not (self._is_paused or self._lines.is_inside_line)
        wire.let_speak(self.session if may_speak else None)
        self.session.credit = UNLIMITED if self._bucket is None else self._bucket.lend(LENT)

    def _slow_down(self) -> None:
        """Read nothing more until it may be heard."""
        if not self._is_paused and self._is_too_fast():
            self._is_paused = True
            self._transport.pause_reading()
            self._wait()

    def _is_too_fast(self) -> bool:
        return bool(self._waiting) or self._wait_s() > SHORTEST_PAUSE_S

    def _wait_s(self) -> float:
        return 0.0 if self._bucket is None else self._bucket.wait_s(self._driver.now())

    def _wait(self) -> None:
        wait_s = self._wait_s()
        self._driver.call_later(max(wait_s, SHORTEST_PAUSE_S) if wait_s else 0.0, self._go_on)

    def _go_on(self) -> None:
        if self.session.phase is CLOSED or self._transport.is_closing() or self._driver.has_left:
            return
        count = len(self._waiting)
        if self._bucket is not None:
            count = self._bucket.take(count, self._driver.now())
        ready, self._waiting[:count] = self._waiting[:count], []
        self._pass_on(ready)
        if self._is_too_fast():
            self._wait()
        else:
            self._is_paused = False
            self._transport.resume_reading()

    def _pass_on(self, lines: list[bytes]) -> None:
        """As many as one client may have heard before others have their turn. The rest waits."""
        ircd, session, driver = self._driver.ircd, self.session, self._driver
        ends_at = driver.now() + TURN_S
        heard = 0
        try:
            for line in lines:
                ircd.received(session, line)
                heard += 1
                if heard % LINES_BETWEEN_LOOKS == 0 and driver.now() > ends_at:
                    break
        except Exception:
            self.give_up()
        else:
            self._put_off(lines[heard:])
        self.settle()
        if heard > 1 and ircd.record.is_full:
            driver.flush_early()

    def _put_off(self, lines: list[bytes]) -> None:
        self._waiting[:0] = lines
        if self._bucket is not None:
            # They were paid for.
            self._bucket.owe(-len(lines))

    def give_up(self) -> None:
        """A bug that one client's line brings out costs that client its connection, and nobody else."""
        log.exception("closing %s", self.session.peer, extra=fields(peer=self.session.peer))
        self._driver.ircd.close(self.session, "Internal error")

    def settle(self) -> None:
        """After the core learned something about the client: it may have let it in."""
        if not self.is_registered and self.session.phase is REGISTERED:
            self.is_registered = True
            self._driver.registered(self)
        elif not self.is_registered and self.session.phase is LINKED:
            self._become_link()
        self._driver.wake()

    def _become_link(self) -> None:
        """Another host may say as much as it has to, in lines as long as it takes."""
        self.is_registered = True
        self._bucket = None
        self._lines.widen(LINK_LINE_BYTES)
        self._driver.linked(self)

    def pause_writing(self) -> None:
        self._driver.behind.add(self)
        self.session.outlet = 0

    def resume_writing(self) -> None:
        self._driver.behind.discard(self)
        if self.session.phase is not CLOSED:
            _connect(self.session, self._transport)
        if self.session.phase is LINKED:
            # There is room for more of what it lacks.
            self._driver.wake()

    def connection_lost(self, error: Exception | None) -> None:
        reason = f"Connection lost: {error.strerror}" if isinstance(error, OSError) else "Connection closed"
        self._driver.ircd.disconnected(self.session, reason)
        self._driver.closed(self)

    def check_backlog(self) -> None:
        """Its reader is behind. Beyond the bound the core lets go of it; a link is only told no more."""
        if self.session.phase is not LINKED:
            self._driver.ircd.held_back(self.session, self._transport.get_write_buffer_size())

    def hang_up(self, last_words: bytes) -> None:
        """Once they were read. The session is over."""
        if self._is_over:
            return
        self._is_over = True
        if self._transport.get_write_buffer_size():
            # Whoever does not read will not read the goodbye either; waiting would keep the socket for ever.
            self._transport.abort()
        else:
            self._stop_listening()
            _say_last(self._transport, last_words)

    def _stop_listening(self) -> None:
        """What still comes is read and dropped: who is in the middle of sending reads the goodbye later."""
        self._bucket = None
        self._waiting.clear()
        if self._is_paused:
            self._transport.resume_reading()


def _connect(session: Session, transport: asyncio.Transport) -> None:
    session.write = transport.write
    session.outlet = transport.outlet if isinstance(transport, Wire) else 0


def turn_away(transport: asyncio.Transport, words: bytes) -> None:
    """Somebody for whom there is no place."""
    transport.set_protocol(asyncio.Protocol())
    _say_last(transport, words)


def _say_last(transport: asyncio.Transport, words: bytes) -> None:
    transport.write(words)
    # To close over unread input is a reset, which may take the words along: the client is to close.
    if transport.can_write_eof():
        transport.write_eof()
    else:
        transport.close()
    asyncio.get_running_loop().call_later(GOODBYE_S, transport.abort)
