"""An asyncio transport for one plain socket, served by the shared EpollLoop."""

import asyncio
import contextlib
import socket
from typing import Any, Protocol, cast

from culture.ircd.session import Session
from culture.net.sockets.epoll_loop import READ, READ_EDGE, WRITE, EpollLoop


class PartialIoRecorder(Protocol):
    """Records partial reads and writes, so that the next process can resume the connection in mid-line."""

    def record_partial_read(self, partial: bytes | None) -> None:
        """Record the incomplete line or message at the end of the input; None if it cannot be resumed."""

    def record_partial_write(self, rest: bytes) -> None:
        """Record the rest of a line or frame of which the socket accepted only the beginning."""

    def unit_end(self, data: bytes | bytearray, start: int, sent: int) -> int:
        """Return where the line or frame that contains byte `sent` ends, given that one begins at `start`."""


class SocketTransport(asyncio.Transport):
    """A drop-in replacement for asyncio's own socket transport."""

    __slots__ = (
        "_address",
        "_buffer",
        "_epoll_loop",
        "_fd",
        "_is_closing",
        "_is_eof_due",
        "_is_reading",
        "_is_shared",
        "_partial_bytes",
        "_protocol",
        "_recorder",
        "_sock",
        "_uid",
    )

    def __init__(
        self,
        epoll_loop: EpollLoop,
        sock: socket.socket,
        address: Any,
        protocol: asyncio.BaseProtocol,
        uid: int | None = None,
    ) -> None:
        """Take over the socket; `uid` is the local Unix user at the other end, if known."""
        super().__init__()
        self._uid = uid
        self._epoll_loop = epoll_loop
        self._sock = sock
        self._fd = sock.fileno()
        self._address = address
        self._protocol = cast(asyncio.Protocol, protocol)
        # Output that the socket has not accepted yet.
        self._buffer: bytearray | None = None
        self._is_reading = True
        self._is_closing = False
        self._is_eof_due = False
        self._recorder: PartialIoRecorder | None = None
        # The service manager holds the socket too, so close() alone does not end the connection.
        self._is_shared = False
        # How many bytes at the start of the buffer complete a line or frame that was sent in part.
        self._partial_bytes = 0
        epoll_loop.register(self._fd, self, self._protocol)

    def begin(self) -> None:
        """Tell the protocol about the connection and start reading."""
        self._protocol.connection_made(self)
        self.rearm()

    def attach_recorder(self, recorder: PartialIoRecorder) -> None:
        """Record partial reads and writes, because the service manager keeps the socket over a restart."""
        self._recorder, self._is_shared = recorder, True

    def detach_recorder(self) -> None:
        """Stop recording: the next process will not resume this connection."""
        self._recorder = None

    def resume(self, partial: bytes, unsent: bytes) -> None:
        """Start reading, and send first what the previous process left: a partial unit, then other output."""
        if partial or unsent:
            self._buffer, self._partial_bytes = bytearray(partial + unsent), len(partial)
            self._protocol.pause_writing()
        self.rearm()

    @property
    def outlet(self) -> int:
        """Return the file descriptor that accepts output; 0 while output is buffered or after closing."""
        return 0 if self._buffer or self._is_closing else self._fd

    @property
    def partial_write(self) -> bytes:
        """Return the buffered rest of a line or frame that was sent in part."""
        return bytes(self._buffer[: self._partial_bytes]) if self._buffer else b""

    @property
    def unsent(self) -> bytes:
        """Return the buffered output after the partial line or frame."""
        return bytes(self._buffer[self._partial_bytes :]) if self._buffer else b""

    def rearm(self) -> None:
        if self._fd < 0:
            return
        if self._buffer:
            events = READ | WRITE if self._is_reading else WRITE
        else:
            events = READ_EDGE if self._is_reading else 0
        self._epoll_loop.set_interest(self._fd, events)

    def on_readable(self, size: int) -> bytes | None:
        return self._sock.recv(size) if self._is_reading else None

    def on_writable(self) -> None:
        if not self._buffer:
            return
        try:
            sent = self._sock.send(self._buffer)
        except BlockingIOError:
            return
        except OSError as error:
            self.on_error(error)
            return
        if self._recorder is not None:
            self._record_partial_write(self._recorder, self._buffer, sent)
        del self._buffer[:sent]
        if self._buffer:
            return
        self._buffer = None
        self._protocol.resume_writing()
        if self._is_closing:
            self.abort()
            return
        self.rearm()
        if self._is_eof_due:
            self._send_eof()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._buffer:
            self._buffer += data
        elif self._fd >= 0:
            self._epoll_loop.write([self._fd], [bytes(data)])

    def on_partial_write(self, data: bytes, sent: int) -> None:
        self._buffer = bytearray(data[sent:])
        self._protocol.pause_writing()
        if self._recorder is not None:
            self._record_partial_write(self._recorder, data, sent)
        self.rearm()

    def get_write_buffer_size(self) -> int:
        return len(self._buffer) if self._buffer else 0

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Do nothing: the writer asks how much is buffered instead."""

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self._is_eof_due = True
        if not self._buffer:
            self._send_eof()

    def close(self) -> None:
        """Stop reading, and close once buffered output was written."""
        if self._is_closing:
            return
        self._is_closing, self._is_reading = True, False
        if self._buffer:
            self.rearm()
        else:
            self.abort()

    def abort(self) -> None:
        self._break_off(None)

    def on_error(self, error: OSError) -> None:
        self._break_off(error)

    def is_closing(self) -> bool:
        return self._is_closing

    def pause_reading(self) -> None:
        self._is_reading = False
        self.rearm()

    def resume_reading(self) -> None:
        if not self._is_closing:
            self._is_reading = True
            self.rearm()

    def is_reading(self) -> bool:
        return self._is_reading

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = cast(asyncio.Protocol, protocol)
        if self._fd >= 0:
            self._epoll_loop.register(self._fd, self, self._protocol)

    def set_fast_path(self, session: Session | None) -> None:
        """Let the fast path parse input of this session; None sends all input to the protocol."""
        if self._fd >= 0:
            self._epoll_loop.set_fast_path(self._fd, session)

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._protocol

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        known = {"socket": self._sock, "peername": self._address, "socket_transport": self, "uid": self._uid}
        return known.get(name, default)

    def _record_partial_write(self, recorder: PartialIoRecorder, data: bytes | bytearray, sent: int) -> None:
        end = recorder.unit_end(data, self._partial_bytes, sent)
        if end > sent or self._partial_bytes:
            self._partial_bytes = end - sent
            recorder.record_partial_write(bytes(data[sent:end]))

    def _send_eof(self) -> None:
        try:
            self._sock.shutdown(socket.SHUT_WR)
        except OSError as error:
            self.on_error(error)

    def _break_off(self, error: Exception | None) -> None:
        """Close at once, and tell the protocol later, not in the middle of one of its own calls."""
        if self._fd < 0:
            return
        self._epoll_loop.unregister(self._fd)
        self._fd = -1
        self._buffer = None
        self._is_closing, self._is_reading = True, False
        self._epoll_loop.loop.call_soon(self._lost, error)

    def _lost(self, error: Exception | None) -> None:
        self._protocol.connection_lost(error)
        # Break the reference cycles, so that no garbage collection is needed.
        self._protocol = asyncio.Protocol()
        self._recorder = None
        if self._is_shared:
            with contextlib.suppress(OSError):
                self._sock.shutdown(socket.SHUT_RDWR)
        self._sock.close()
