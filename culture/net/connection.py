"""Connect one client's transport to its session, and rate-limit its lines."""

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from culture.federation.event_lines import LINE_BYTES as LINK_LINE_BYTES
from culture.ircd.auth.preauth import Refused
from culture.ircd.authority.kinds import update_kind
from culture.ircd.commands.session.authentication import log_in
from culture.ircd.commands.session.confinement import may_log_in
from culture.ircd.session import CLOSED, LINKED, PROVING, REGISTERED, Session
from culture.net.auth.authenticator_chain import Verdict, authenticate
from culture.net.limits.admission import client_of
from culture.net.limits.token_bucket import TokenBucket
from culture.net.listen.origin import Origin, origin_of
from culture.net.sockets.socket_transport import PartialIoRecorder, SocketTransport
from culture.protocol.framing import BODY_BYTES, CRLF, LineBuffer, lengthened
from culture.protocol.line import format_line
from culture.systemd.journal import fields

if TYPE_CHECKING:
    from culture.net.driver import Driver

log = logging.getLogger(__name__)

# How long a client may take to read the final ERROR line before the connection is aborted.
GOODBYE_S: Final = 2.0
# A throttled client is served in small batches, not line by line.
SHORTEST_PAUSE_S: Final = 0.02
# How long the lines of one client may take before other clients are served.
TURN_S: Final = 0.002
# Processing time that a batch of lines may take without extra cost.
FREE_S: Final = 0.0005
# Most tokens that the fast path borrows in advance. A quiet client may exceed its burst by this many lines.
MAX_LENT_TOKENS: Final = 32


class Connection(asyncio.Protocol):
    """The asyncio protocol of one client or link."""

    __slots__ = (
        "_bucket",
        "_driver",
        "_is_over",
        "_is_paused",
        "_lines",
        "_transport",
        "_waiting",
        "is_registered",
        "origin",
        "recorder",
        "session",
    )

    def __init__(self, driver: "Driver") -> None:
        self._driver = driver
        self._lines = LineBuffer()
        self._bucket: TokenBucket | None = None
        self._is_paused = False
        # Lines beyond the rate limit. Reading pauses while there are any.
        self._waiting: list[bytes] = []
        self._transport: asyncio.Transport
        self.origin: Origin
        self.session: Session
        self.is_registered = False
        # Records incomplete lines, so that the next process can resume the connection.
        self.recorder: PartialIoRecorder | None = None
        self._is_over = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.begin(cast(asyncio.Transport, transport), origin_of(transport))

    def begin(self, transport: asyncio.Transport, origin: Origin) -> None:
        """Start serving a client whose origin is known, unless the limits refuse it."""
        ircd, host = self._driver.ircd, origin.host(self._driver.ircd.name)
        if (why := self._driver.refusal(origin)) is not None:
            goodbye = format_line("ERROR", f"Closing Link: {host} ({why})", trailing=True)
            turn_away(transport, goodbye.encode() + CRLF)
            return
        self._transport, self.origin = transport, origin
        self.session = ircd.connect(host, origin.peer)
        _attach_output(self.session, transport)
        self.session.is_local = origin.is_local
        self.session.is_secure = origin.is_secure
        self.session.fingerprint = origin.fingerprint
        self._authenticate(origin)
        self._bucket = self._driver.bucket_for(origin)
        self._driver.opened(self)

    def _authenticate(self, origin: Origin) -> None:
        """Authenticate by origin, before any input. A local agent is always logged in as itself."""
        ircd, session, agents = self._driver.ircd, self.session, self._driver.agents
        session.client = client_of(origin)
        session.uid, session.unix_user = origin.uid, agents.name_of(origin.uid)
        session.is_administrator = agents.is_administrator(origin.uid)
        if (agent := agents.agent_of(origin.uid)) is not None:
            session.is_trusted = True
            log_in(ircd, session, agent, "agent")
            return
        own = self._driver.authenticators
        ask = partial(authenticate, origin, ircd.config.accounts, own, session.unix_user)
        if not own:
            self._authenticated(ask())
            return
        session.is_unidentified = True
        unavailable = partial(ircd.close, session, "Your identity cannot be determined")
        ircd.ask(session, lambda _: ask(), self._authenticated, unavailable, of="connections")
        self._driver.wake()

    def _authenticated(self, verdict: Verdict) -> None:
        ircd, session = self._driver.ircd, self.session
        session.is_unidentified = False
        if isinstance(verdict, Refused):
            what = f"may not connect: {verdict.reason}"
            ircd.notes.add("login-failed", session, what, mechanism="authenticator")
            ircd.close(session, verdict.reason)
            return
        session.is_trusted = verdict is not None
        if verdict is not None and verdict.account is not None and may_log_in(ircd, session, verdict.account):
            log_in(ircd, session, verdict.account, verdict.mechanism)

    def call(self, transport: asyncio.Transport, origin: Origin) -> None:
        """Start serving a link that this host dialed."""
        self._transport, self.origin = transport, origin
        self.session = self._driver.ircd.connect(origin.host(self._driver.ircd.name), origin.peer)
        _attach_output(self.session, transport)
        self.session.phase = LINKED
        self._driver.opened(self)
        self._become_link()

    def resume(self, transport: asyncio.Transport, origin: Origin, session: Session) -> None:
        """Continue serving a session that the previous process accepted."""
        self._transport, self.origin, self.session = transport, origin, session
        session.client, session.uid = client_of(origin), origin.uid
        session.is_administrator = self._driver.agents.is_administrator(origin.uid)
        _attach_output(session, transport)
        self._bucket = self._driver.bucket_for(origin)
        self._driver.opened(self)
        if session.phase is REGISTERED:
            update_kind(self._driver.ircd, session)
            self.is_registered = True
            self._driver.admission.registered()

    @property
    def transport(self) -> asyncio.Transport:
        """Return the transport below this connection."""
        return self._transport

    @property
    def half(self) -> bytes:
        """Return the incomplete line at the end of the input."""
        return self._lines.half

    @property
    def waiting(self) -> bytes:
        """Return the lines that were read but not processed yet."""
        return b"".join(lengthened(line) + CRLF for line in self._waiting)

    def data_received(self, data: bytes) -> None:
        if self.session.phase is CLOSED:
            # The client may go on sending until it has read the final ERROR.
            return
        lines = self._lines.feed(data)
        if self._bucket is not None:
            self._bucket.owe(-self.session.credit)
        if self.recorder is not None:
            self.recorder.record_partial_read(self._lines.half)
        if not lines:
            self.charge(max(len(data), len(self._lines.half)))
        if self._bucket is not None:
            lines = self._within_rate(self._bucket, lines)
        self._process_lines(lines)
        self._throttle()
        if isinstance(self._transport, SocketTransport):
            self._use_fast_path(self._transport)

    def charge(self, size: int) -> None:
        """Charge for a read that completed no line, by its size or that of the buffered part of the line.

        The keeper may write the whole buffered part again for each read, so single bytes must not be free.
        """
        if self._bucket is not None:
            self._bucket.owe(size // BODY_BYTES)
            self._throttle()

    def charge_time(self, seconds: float) -> None:
        """Charge the client for the loop's time that its commands took."""
        if self._bucket is not None and seconds > FREE_S:
            self._bucket.charge_time(seconds)

    def _charge_for_history(self) -> None:
        """Charge the client for what it wrote to history, by any path."""
        written, self.session.recorded_bytes = self.session.recorded_bytes, 0
        if self.session.phase is not LINKED:
            self._driver.charge_for_history(self.session, written)

    def pause_s(self) -> float:
        """Return how long a long command of this client has to wait for its next slice."""
        wait_s = self._wait_s()
        # Replies that the client has not read yet would only pile up.
        is_behind = self._transport.get_write_buffer_size() > 0
        return max(wait_s, SHORTEST_PAUSE_S) if wait_s or is_behind else 0.0

    @property
    def _is_in_slices(self) -> bool:
        """Whether a long command of this client is not finished."""
        return self.session.question is not None and self.session.question.of == "slices"

    def _within_rate(self, bucket: TokenBucket, lines: list[bytes]) -> list[bytes]:
        """Return the lines that the bucket allows now, and queue the others."""
        ready = 0 if self._is_paused else bucket.take(len(lines), self._driver.now())
        self._waiting += lines[ready:]
        return lines[:ready]

    def _use_fast_path(self, transport: SocketTransport) -> None:
        """Let the fast path handle input, and lend it tokens so that it need not ask the bucket each time.

        Lending makes 500 pairs of clients 50 % faster with the default limits.
        """
        may_speak = not (self._is_paused or self._lines.is_inside_line)
        transport.set_fast_path(self.session if may_speak else None)
        self.session.credit = (
            self._driver.unmetered_lines if self._bucket is None else self._bucket.lend(MAX_LENT_TOKENS)
        )

    def _throttle(self) -> None:
        """Pause reading while the client is over its limits."""
        if not self._is_paused and self._is_over_limit():
            self._is_paused = True
            self._transport.pause_reading()
            self._schedule_waiting()

    def _is_over_limit(self) -> bool:
        return bool(self._waiting) or self._wait_s() > SHORTEST_PAUSE_S

    def _wait_s(self) -> float:
        if self.session.phase is LINKED:
            return 0.0
        rate_s = 0.0 if self._bucket is None else self._bucket.wait_s(self._driver.now())
        return max(rate_s, self._driver.history_quota.wait_s(self.session.client))

    def _schedule_waiting(self) -> None:
        wait_s = self._wait_s()
        must_wait = wait_s or self._is_in_slices
        self._driver.call_later(max(wait_s, SHORTEST_PAUSE_S) if must_wait else 0.0, self._process_waiting)

    def _process_waiting(self) -> None:
        if self.session.phase is CLOSED or self._transport.is_closing() or self._driver.has_left:
            return
        count = len(self._waiting)
        if self._bucket is not None:
            count = self._bucket.take(count, self._driver.now())
        ready, self._waiting[:count] = self._waiting[:count], []
        self._process_lines(ready)
        if self._is_over_limit():
            self._schedule_waiting()
        else:
            self._is_paused = False
            self._transport.resume_reading()

    def _process_lines(self, lines: list[bytes]) -> None:
        """Process lines for at most TURN_S, and queue the rest."""
        ircd, session, driver = self._driver.ircd, self.session, self._driver
        began_at = driver.now()
        ends_at = began_at + TURN_S
        processed = 0
        try:
            for line in lines:
                if self._is_in_slices:
                    break
                ircd.received(session, line)
                processed += 1
                if driver.now() > ends_at:
                    break
        except Exception:
            self.give_up()
        else:
            self._requeue(lines[processed:])
        self.charge_time(driver.now() - began_at)
        self._charge_for_history()
        self.settle()
        if processed > 1 and ircd.record.is_full:
            driver.flush_early()

    def _requeue(self, lines: list[bytes]) -> None:
        self._waiting[:0] = lines
        if self._bucket is not None:
            # Refund the tokens that were taken for these lines.
            self._bucket.owe(-len(lines))

    def give_up(self) -> None:
        """Log the current exception, a bug in handling this client, and close its connection."""
        log.exception("closing %s", self.session.peer, extra=fields(peer=self.session.peer))
        self._driver.ircd.close(self.session, "Internal error")

    def settle(self) -> None:
        """Follow a change of the session's phase: registered, linked or proving."""
        if not self.is_registered and self.session.phase is REGISTERED:
            self.is_registered = True
            self._driver.registered(self)
        elif not self.is_registered and self.session.phase is LINKED:
            self._become_link()
        elif self.session.phase is PROVING:
            self._driver.proving(self)
        self._driver.wake()

    def _become_link(self) -> None:
        """Lift the client limits: a link has no rate limit and longer lines."""
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
            _attach_output(self.session, self._transport)
        if self.session.phase is LINKED:
            # The link has room for more of the history that its peer lacks.
            self._driver.wake()

    def connection_lost(self, error: Exception | None) -> None:
        reason = f"Connection lost: {error.strerror}" if isinstance(error, OSError) else "Connection closed"
        self._driver.ircd.disconnected(self.session, reason)
        self._driver.closed(self)

    def check_backlog(self) -> None:
        """Let the core close a client whose unread output is over the limit. Links are exempt."""
        if self.session.phase is not LINKED:
            self._driver.ircd.held_back(self.session, self._transport.get_write_buffer_size())

    def hang_up(self, last_words: bytes) -> None:
        """Send the last words of a closed session, and close the connection once the client has read them."""
        if self._is_over:
            return
        self._is_over = True
        if self._transport.get_write_buffer_size():
            # A client that does not read would recorder the socket open for ever.
            self._transport.abort()
        else:
            self._stop_listening()
            _send_last_words(self._transport, last_words)

    def _stop_listening(self) -> None:
        """Drop further input, so that a client that is still sending can read the last words."""
        self._bucket = None
        self._waiting.clear()
        if self._is_paused:
            self._transport.resume_reading()


def _attach_output(session: Session, transport: asyncio.Transport) -> None:
    session.write = transport.write
    session.outlet = transport.outlet if isinstance(transport, SocketTransport) else 0


def turn_away(transport: asyncio.Transport, words: bytes) -> None:
    """Send the reason to a refused client, and close the connection."""
    transport.set_protocol(asyncio.Protocol())
    _send_last_words(transport, words)


def _send_last_words(transport: asyncio.Transport, words: bytes) -> None:
    transport.write(words)
    # Closing with unread input sends a TCP reset, which may discard the words, so let the client close first.
    if transport.can_write_eof():
        transport.write_eof()
    else:
        transport.close()
    asyncio.get_running_loop().call_later(GOODBYE_S, transport.abort)
