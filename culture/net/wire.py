"""One plain socket, as a transport of asyncio that is served together with all others."""

import asyncio
import contextlib
import socket
from typing import Any, Protocol, cast

from culture.ircd.session import Session
from culture.net.wires import NEWS, READ, WRITE, Wires


class Keep(Protocol):
    """Who goes on with a wire if this process does not."""

    def read(self, half: bytes | None) -> None:
        """What was read ends with this part of a line or a message. None: nobody can go on with it."""

    def torn(self, rest: bytes) -> None:
        """The socket took the beginning of a line or a frame; the stream goes on with this rest of it."""

    def unit_end(self, data: bytes | bytearray, start: int, sent: int) -> int:
        """Where the line or frame ends that the socket took in part. One begins at `start`."""


class Wire(asyncio.Transport):
    """One socket, as a transport: whatever stands on it cannot tell it from asyncio's own."""

    __slots__ = (
        "_address",
        "_buffer",
        "_fd",
        "_is_closing",
        "_is_eof_due",
        "_is_reading",
        "_is_shared",
        "_keep",
        "_protocol",
        "_sock",
        "_torn",
        "_wires",
    )

    def __init__(
        self, wires: Wires, sock: socket.socket, address: Any, protocol: asyncio.BaseProtocol
    ) -> None:
        super().__init__()
        self._wires = wires
        self._sock = sock
        self._fd = sock.fileno()
        self._address = address
        self._protocol = cast(asyncio.Protocol, protocol)
        self._buffer: bytearray | None = None
        """What the socket did not take yet."""
        self._is_reading = True
        self._is_closing = False
        self._is_eof_due = False
        self._keep: Keep | None = None
        self._is_shared = False
        """Somebody else holds the socket too, and would keep it open."""
        self._torn = 0
        """How much of what waits belongs to a line or a frame of which the socket took the beginning."""
        wires.hold(self._fd, self, self._protocol)

    def begin(self) -> None:
        self._protocol.connection_made(self)
        self.look_again()

    def be_kept(self, keep: Keep) -> None:
        self._keep, self._is_shared = keep, True

    def be_released(self) -> None:
        """Nobody goes on with it after this process."""
        self._keep = None

    def go_on(self, torn: bytes, unsent: bytes) -> None:
        """Where another process stopped: with the rest of a line or a frame, and what else waited."""
        if torn or unsent:
            self._buffer, self._torn = bytearray(torn + unsent), len(torn)
            self._protocol.pause_writing()
        self.look_again()

    @property
    def outlet(self) -> int:
        """The number of the file that takes what is written; 0 while something waits, or for ever."""
        return 0 if self._buffer or self._is_closing else self._fd

    @property
    def torn(self) -> bytes:
        return bytes(self._buffer[: self._torn]) if self._buffer else b""

    @property
    def unsent(self) -> bytes:
        """What waits behind that."""
        return bytes(self._buffer[self._torn :]) if self._buffer else b""

    def look_again(self) -> None:
        if self._fd < 0:
            return
        if self._buffer:
            what = READ | WRITE if self._is_reading else WRITE
        else:
            what = NEWS if self._is_reading else 0
        self._wires.watch(self._fd, what)

    def recv(self, size: int) -> bytes | None:
        return self._sock.recv(size) if self._is_reading else None

    def writable(self) -> None:
        if not self._buffer:
            return
        try:
            sent = self._sock.send(self._buffer)
        except BlockingIOError:
            return
        except OSError as error:
            self.broke(error)
            return
        if self._keep is not None:
            self._tell_torn(self._keep, self._buffer, sent)
        del self._buffer[:sent]
        if self._buffer:
            return
        self._buffer = None
        self._protocol.resume_writing()
        if self._is_closing:
            self.abort()
            return
        self.look_again()
        if self._is_eof_due:
            self._send_eof()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._buffer:
            self._buffer += data
        elif self._fd >= 0:
            self._wires.write([self._fd], [bytes(data)])

    def fall_behind(self, data: bytes, sent: int) -> None:
        self._buffer = bytearray(data[sent:])
        self._protocol.pause_writing()
        if self._keep is not None:
            self._tell_torn(self._keep, data, sent)
        self.look_again()

    def get_write_buffer_size(self) -> int:
        return len(self._buffer) if self._buffer else 0

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """There are none: who writes asks how much waits."""

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self._is_eof_due = True
        if not self._buffer:
            self._send_eof()

    def close(self) -> None:
        """After what waits was written. Nothing is read any more."""
        if self._is_closing:
            return
        self._is_closing, self._is_reading = True, False
        if self._buffer:
            self.look_again()
        else:
            self.abort()

    def abort(self) -> None:
        self._break_off(None)

    def broke(self, error: OSError) -> None:
        self._break_off(error)

    def is_closing(self) -> bool:
        return self._is_closing

    def pause_reading(self) -> None:
        self._is_reading = False
        self.look_again()

    def resume_reading(self) -> None:
        if not self._is_closing:
            self._is_reading = True
            self.look_again()

    def is_reading(self) -> bool:
        return self._is_reading

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = cast(asyncio.Protocol, protocol)
        if self._fd >= 0:
            self._wires.hold(self._fd, self, self._protocol)

    def let_speak(self, session: Session | None) -> None:
        """What is read begins with a line of this session, and need not go through the protocol."""
        if self._fd >= 0:
            self._wires.let_speak(self._fd, session)

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._protocol

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"socket": self._sock, "peername": self._address, "wire": self}.get(name, default)

    def _tell_torn(self, keep: Keep, data: bytes | bytearray, sent: int) -> None:
        end = keep.unit_end(data, self._torn, sent)
        if end > sent or self._torn:
            self._torn = end - sent
            keep.torn(bytes(data[sent:end]))

    def _send_eof(self) -> None:
        try:
            self._sock.shutdown(socket.SHUT_WR)
        except OSError as error:
            self.broke(error)

    def _break_off(self, error: Exception | None) -> None:
        """Now. Whoever stands on the wire learns it later, not in the middle of what it does."""
        if self._fd < 0:
            return
        self._wires.let_go(self._fd)
        self._fd = -1
        self._buffer = None
        self._is_closing, self._is_reading = True, False
        self._wires.loop.call_soon(self._lost, error)

    def _lost(self, error: Exception | None) -> None:
        self._protocol.connection_lost(error)
        # Each would keep the other until the garbage collector finds them.
        self._protocol = asyncio.Protocol()
        self._keep = None
        if self._is_shared:
            with contextlib.suppress(OSError):
                self._sock.shutdown(socket.SHUT_RDWR)
        self._sock.close()
