"""Plain sockets under an epoll of their own, which the event loop sees as one file.

asyncio makes a key, a handle and a context run of each socket that can be read; for a server whose work is
many short lines that is most of the time it takes. Here one turn reads from all of them, then passes on what
was read, then flushes: code between two system calls runs several times slower than code without them.
"""

import asyncio
import contextlib
import logging
import select
import socket
from collections.abc import Callable, Sequence
from itertools import repeat
from operator import call
from typing import Any, Final, Protocol, cast

log = logging.getLogger(__name__)

AT_ONCE: Final = 1024
"""Sockets that are served in one turn, before everything else on the loop has its own."""
READ_BYTES: Final = 16384

_READ: Final = select.EPOLLIN
_WRITE: Final = select.EPOLLOUT
_NEWS: Final = select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLET
"""Only when something comes. What is looked after until nothing is left is looked at twice as often."""


class Watched(Protocol):
    protocol: asyncio.Protocol
    """What is told of what was read."""

    @property
    def recv(self) -> Callable[[int], bytes | None]:
        """What there is to read. Nothing at all (None) is not the end (b"")."""

    def broke(self, error: OSError) -> None:
        """Reading or writing failed."""

    def writable(self) -> None: ...

    def look_again(self) -> None:
        """There may be more to read than was read."""

    def close(self) -> None: ...

    def abort(self) -> None: ...


class Wires:
    """`begin_turn` is called before sockets are served, `end_turn` after all of them were."""

    def __init__(self, begin_turn: Callable[[], None], end_turn: Callable[[], None]) -> None:
        self._begin_turn = begin_turn
        self._end_turn = end_turn
        self.loop = asyncio.get_running_loop()
        self._epoll = select.epoll()
        self._watched: dict[int, Watched] = {}
        self.loop.add_reader(self._epoll.fileno(), self._turn)

    def rest(self) -> None:
        """Serve nobody any more. What comes stays where it is."""
        self.loop.remove_reader(self._epoll.fileno())

    def close(self) -> None:
        if not self._epoll.closed:
            self.loop.remove_reader(self._epoll.fileno())
            self._epoll.close()

    def watch(self, fd: int, watched: Watched, what: int) -> None:
        """From now on for this, and nothing else; for nothing at all if there is nothing to wait for."""
        if not what:
            # Even an interest in nothing would be told of errors, for ever.
            if self._watched.pop(fd, None) is not None:
                self._epoll.unregister(fd)
        elif fd in self._watched:
            self._epoll.modify(fd, what)
        else:
            self._watched[fd] = watched
            self._epoll.register(fd, what)

    def write(self, wires: "Sequence[Wire]", pieces: Sequence[bytes]) -> None:
        """To each its piece."""
        sent: list[int] = []
        sending = map(call, [wire.send for wire in wires], pieces)
        # No step of Python between two system calls: 0.9 us less for each. An error leaves what was sent.
        while len(sent) < len(wires):
            try:
                sent.extend(sending)
            except BlockingIOError:
                sent.append(0)
            except OSError as error:
                wires[len(sent)].broke(error)
                sent.append(0)
        if sum(sent) != sum(map(len, pieces)):
            for wire, piece, size in zip(wires, pieces, sent, strict=True):
                if size < len(piece):
                    wire.fall_behind(piece, size)

    def _turn(self) -> None:
        self._begin_turn()
        watched = self._watched
        readable, others = [], []
        for fd, what in self._epoll.poll(0, AT_ONCE):
            one = watched[fd]
            if what & ~_WRITE:
                readable.append(one)
            if what != _READ:
                others.append((one, what))
        arrived = self._read(readable)
        for one, what in others:
            if what & _WRITE:
                one.writable()
            if what & ~(_READ | _WRITE):
                # The end may stand behind what was read.
                one.look_again()
        for one, data in zip(readable, arrived, strict=True):
            if data:
                if len(data) == READ_BYTES:
                    one.look_again()
                try:
                    one.protocol.data_received(data)
                except Exception:
                    # A bug costs the one that brings it out. The others were read from already.
                    log.exception("closing a connection")
                    one.abort()
            elif data is not None:
                one.close()
        self._end_turn()

    def _read(self, readable: Sequence[Watched]) -> list[bytes | None]:
        """From each, in their order."""
        arrived: list[bytes | None] = []
        reading = map(call, [one.recv for one in readable], repeat(READ_BYTES))
        while len(arrived) < len(readable):
            try:
                arrived.extend(reading)
            except BlockingIOError:
                arrived.append(None)
            except OSError as error:
                readable[len(arrived)].broke(error)
                arrived.append(None)
        return arrived


class Keep(Protocol):
    """Who goes on with a wire if this process does not."""

    def read(self, half: bytes | None) -> None:
        """What was read ends with this part of a line or a message. None: nobody can go on with it."""

    def torn(self, rest: bytes) -> None:
        """The socket took the beginning of a line or a frame; the stream goes on with this rest of it."""

    def unit_end(self, data: bytes | bytearray, start: int, sent: int) -> int:
        """Where the line or frame ends that the socket took in part. One begins at `start`."""


def _nothing(_: int) -> None:
    """What is read where nothing is to be."""


class Wire(asyncio.Transport):
    """One socket, as a transport: whatever stands on it cannot tell it from asyncio's own."""

    __slots__ = (
        "_address",
        "_buffer",
        "_fd",
        "_is_closing",
        "_is_eof_due",
        "_is_shared",
        "_keep",
        "_sock",
        "_torn",
        "_wires",
        "protocol",
        "recv",
        "send",
    )

    def __init__(
        self, wires: Wires, sock: socket.socket, address: Any, protocol: asyncio.BaseProtocol
    ) -> None:
        super().__init__()
        self._wires = wires
        self._sock = sock
        self._fd = sock.fileno()
        self._address = address
        self.recv: Callable[[int], bytes | None] = sock.recv
        self.send: Callable[[bytes], int] = sock.send
        """Straight to the socket, or to where it waits; how much of it needs no more care."""
        self.protocol = cast(asyncio.Protocol, protocol)
        self._buffer: bytearray | None = None
        """What the socket did not take yet."""
        self._is_closing = False
        self._is_eof_due = False
        self._keep: Keep | None = None
        self._is_shared = False
        """Somebody else holds the socket too, and would keep it open."""
        self._torn = 0
        """How much of what waits belongs to a line or a frame of which the socket took the beginning."""

    def begin(self) -> None:
        self.protocol.connection_made(self)
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
            self.send = self._wait
            self.protocol.pause_writing()
        self.look_again()

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
            what = _READ | _WRITE if self.is_reading() else _WRITE
        else:
            what = _NEWS if self.is_reading() else 0
        self._wires.watch(self._fd, self, what)

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
        self.send = self._sock.send
        self.protocol.resume_writing()
        if self._is_closing:
            self.abort()
            return
        self.look_again()
        if self._is_eof_due:
            self._send_eof()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._wires.write([self], [bytes(data)])

    def fall_behind(self, data: bytes, sent: int) -> None:
        """The socket did not take all of it."""
        if self._fd >= 0:
            self._buffer = bytearray(data[sent:])
            self.send = self._wait
            self.protocol.pause_writing()
            if self._keep is not None:
                self._tell_torn(self._keep, data, sent)
            self.look_again()

    def _wait(self, data: bytes) -> int:
        assert self._buffer is not None
        self._buffer += data
        return len(data)

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
        self._is_closing = True
        self.recv = _nothing
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
        self.recv = _nothing
        self.look_again()

    def resume_reading(self) -> None:
        if not self._is_closing:
            self.recv = self._sock.recv
            self.look_again()

    def is_reading(self) -> bool:
        return self.recv is not _nothing

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = cast(asyncio.Protocol, protocol)

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self.protocol

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
        self._wires.watch(self._fd, self, 0)
        self._fd = -1
        self._buffer = None
        self._is_closing, self.recv, self.send = True, _nothing, len
        self._wires.loop.call_soon(self._lost, error)

    def _lost(self, error: Exception | None) -> None:
        self.protocol.connection_lost(error)
        # Each would keep the other until the garbage collector finds them.
        self.protocol = asyncio.Protocol()
        self._keep = None
        if self._is_shared:
            with contextlib.suppress(OSError):
                self._sock.shutdown(socket.SHUT_RDWR)
        self._sock.close()
