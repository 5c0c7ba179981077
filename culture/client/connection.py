"""One connection to a server: read and write bytes, and detect a dead connection."""

import asyncio
import os
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from culture.client.events import Event
from culture.client.session import Session
from culture.config.address import Address, TcpAddress, UnixAddress
from culture.config.agents import ServerConfig
from culture.errors import CultureError, TemporaryError, UnavailableError
from culture.protocol.framing import SERVER_TAG_BYTES, LineBuffer
from culture.protocol.line import MalformedLine, parse_line

_LIVENESS_TOKEN: Final = "alive"


@dataclass(frozen=True, slots=True)
class Patience:
    """The timeouts of a connection, in seconds."""

    connect_s: float = 10.0
    registration_s: float = 30.0
    # After so long without a line we ask whether the server is there …
    silence_s: float = 30.0
    # … and after so long without an answer it is not.
    answer_s: float = 20.0

    @property
    def longest_silence_s(self) -> float:
        """Return how long a watched connection can be silent before it is closed."""
        return self.silence_s + self.answer_s + 10.0


PATIENCE: Final = Patience()


class Connection(asyncio.Protocol):
    """Feeds received lines to the session, passes its events to `on_event`, and sends its output.

    `on_event` is called from the read callback, so that no task switch delays a line. It must not block.
    """

    def __init__(self, session: Session, on_event: Callable[[Event], None], patience: Patience) -> None:
        self.session = session
        self._patience = patience
        self._on_event = on_event
        self._loop = asyncio.get_running_loop()
        self._buffer = LineBuffer(SERVER_TAG_BYTES)
        self._transport: asyncio.Transport | None = None
        self._closed: asyncio.Future[CultureError] = self._loop.create_future()
        self._heard_at = self._loop.time()

    @property
    def silent_s(self) -> float:
        """Return the seconds since the last received byte."""
        return self._loop.time() - self._heard_at

    def flush(self) -> None:
        """Send the session's output."""
        lines = self.session.take_output()
        if lines and self._transport is not None:
            self._transport.write("".join(f"{line}\r\n" for line in lines).encode(errors="replace"))

    def close(self, why: CultureError) -> None:
        """Close the connection."""
        if not self._closed.done():
            self._closed.set_result(why)
        if self._transport is not None:
            # Writes out what is queued (a QUIT) before it closes.
            self._transport.close()

    async def run(self) -> CultureError:
        """Run until the connection ends, and return the reason."""
        keeper = self._loop.create_task(self._keep_watch())
        try:
            return await self._closed
        finally:
            keeper.cancel()
            if self._transport is not None:
                self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self.flush()

    def data_received(self, data: bytes) -> None:
        self._heard_at = self._loop.time()
        try:
            for raw in self._buffer.feed(data):
                self._line_received(raw)
        except CultureError as error:
            self.close(error)
        self.flush()

    def connection_lost(self, error: Exception | None) -> None:
        words = f": {error.strerror or error}" if isinstance(error, OSError) else ""
        self.close(TemporaryError(f"the server closed the connection{words}"))

    def _line_received(self, raw: bytes) -> None:
        try:
            # Per line, never per read: a read may end inside a character.
            line = parse_line(raw.decode(errors="replace"))
        except MalformedLine:
            return
        for event in self.session.received(line):
            self._on_event(event)

    async def _keep_watch(self) -> None:
        patience = self._patience
        await asyncio.sleep(patience.registration_s)
        if not self.session.is_registered:
            waited = f"{patience.registration_s:.0f} s"
            self.close(TemporaryError(f"the server did not welcome us within {waited}"))
        while True:
            await asyncio.sleep(max(patience.silence_s - self.silent_s, 0.1))
            if self.silent_s < patience.silence_s:
                continue
            asked_at = self._loop.time()
            self.session.ping(_LIVENESS_TOKEN)
            self.flush()
            await asyncio.sleep(patience.answer_s)
            if self._heard_at < asked_at:
                self.close(TemporaryError(f"the server has not answered for {self.silent_s:.0f} s"))


async def open_connection(
    address: Address,
    session: Session,
    on_event: Callable[[Event], None],
    patience: Patience,
    tls: ssl.SSLContext | None = None,
) -> Connection:
    """Open a connection, by TLS only to TCP addresses: no certificate can name a unix socket."""
    loop = asyncio.get_running_loop()
    connection = Connection(session, on_event, patience)
    try:
        async with asyncio.timeout(patience.connect_s):
            match address:
                case TcpAddress(host, port):
                    await loop.create_connection(lambda: connection, host, port, ssl=tls)
                case UnixAddress(path):
                    await loop.create_unix_connection(lambda: connection, path)
    except TimeoutError:
        raise UnavailableError(f"no answer from {address} within {patience.connect_s:.0f} s") from None
    except ssl.SSLCertVerificationError as error:
        hint = "set tls_ca in agents.yaml to the authority that signed it"
        why = f"its certificate is not valid: {error.verify_message}"
        raise UnavailableError(f"cannot connect to {address}: {why}", hint=hint) from None
    except ssl.SSLError as error:
        raise UnavailableError(f"cannot connect to {address} by TLS: {error.reason}") from None
    except OSError as error:
        raise UnavailableError(f"cannot connect to {address}: {reason_of(error)}") from None
    return connection


def tls_of(server: ServerConfig) -> ssl.SSLContext | None:
    """Return the TLS context for connections to the configured server, or None without TLS."""
    return tls_context(server.tls_ca) if server.tls else None


def tls_context(authorities: str) -> ssl.SSLContext:
    """Return a TLS context that trusts the authorities in a file, or those of the system."""
    try:
        context = ssl.create_default_context(cafile=authorities or None)
    except (OSError, ssl.SSLError) as error:
        why = error.strerror or str(error)
        raise UnavailableError(f"cannot read certificates from '{authorities}': {why}") from None
    if authorities:
        # Whoever named it trusts what is in it. Python 3.13 asks for more than `openssl req -x509` writes.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def reason_of(error: OSError) -> str:
    """Return the operating system's text for a connection error, without the names of Python calls."""
    known = error.errno is not None and error.errno > 0
    return os.strerror(error.errno or 0) if known else error.strerror or str(error)
