"""Plain sockets under an epoll of their own, which the event loop sees as one file.

asyncio makes a key, a handle and a context run of each socket that can be read; for a server whose work is
many short lines that is most of the time it takes. Here one turn reads from all of them, then passes on what
was read, then flushes: code between two system calls runs several times slower than code without them.
"""

import asyncio
import contextlib
import errno
import logging
import select
import socket
from collections.abc import Callable
from typing import Any, Final, Protocol, cast

log = logging.getLogger(__name__)

AT_ONCE: Final = 1024
"""Sockets that are served in one turn, before everything else on the loop has its own."""
READ_BYTES: Final = 16384
ACCEPTED_AT_ONCE: Final = 64
LOOPBACK: Final = frozenset({"127.0.0.1", "::1"})
PLAIN_CONTROL: Final = b"reno"
"""For clients of this machine: nothing is congested on the way to them, and what plans the pace of packets
costs a fifth of each send (measured: 4.3 us instead of 5.2 with bbr or cubic)."""
OUT_OF_FILES: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
OUT_OF_FILES_S: Final = 1.0
"""How long nobody is let in once there is no room for another socket."""

_READ: Final = select.EPOLLIN
_WRITE: Final = select.EPOLLOUT


class Watched(Protocol):
    protocol: asyncio.Protocol
    """What is told of what was read."""

    def read(self) -> bytes | None:
        """What there is to read, if anything; or it is found out that the socket is broken."""

    def writable(self) -> None: ...

    def abort(self) -> None: ...


class Wires:
    """`begin_turn` is called before sockets are served, `end_turn` after all of them were."""

    def __init__(self, begin_turn: Callable[[], None], end_turn: Callable[[], None]) -> None:
        self._begin_turn = begin_turn
        self._end_turn = end_turn
        self.loop = asyncio.get_running_loop()
        self._epoll = select.epoll()
        self._watched: dict[int, Watched] = {}
        self.buffer = memoryview(bytearray(READ_BYTES))
        """For what is read. One that `recv` makes anew is far larger than what arrives mostly is."""
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

    def _turn(self) -> None:
        self._begin_turn()
        watched = self._watched
        arrived = []
        for fd, what in self._epoll.poll(0, AT_ONCE):
            # One that was served before may have closed it. If another has its number already, that one
            # looks in vain.
            if (one := watched.get(fd)) is not None:
                if what & ~_WRITE and (data := one.read()):
                    arrived.append((one, data))
                if what & _WRITE:
                    one.writable()
        for one, data in arrived:
            try:
                one.protocol.data_received(data)
            except Exception:
                # A bug costs the one that brings it out. The others were read from already.
                log.exception("closing a connection")
                one.abort()
        self._end_turn()


class Door:
    """A listening socket: makes a wire of each client that comes."""

    def __init__(
        self, wires: Wires, listener: socket.socket, meet: Callable[[], asyncio.BaseProtocol]
    ) -> None:
        self._wires = wires
        self._listener = listener
        self._meet = meet
        self.protocol = asyncio.Protocol()
        listener.setblocking(False)
        self._open()

    def close(self) -> None:
        if self._listener.fileno() >= 0:
            self._wires.watch(self._listener.fileno(), self, 0)
            self._listener.close()

    def writable(self) -> None:
        """Never asked for."""

    def abort(self) -> None:
        self.close()

    def read(self) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                sock, address = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in OUT_OF_FILES:
                    raise
                log.warning("cannot accept: %s; trying again in %g s", error.strerror, OUT_OF_FILES_S)
                self._wires.watch(self._listener.fileno(), self, 0)
                self._wires.loop.call_later(OUT_OF_FILES_S, self._open)
                return
            self._welcome(sock, address)

    def _open(self) -> None:
        if self._listener.fileno() >= 0:
            self._wires.watch(self._listener.fileno(), self, _READ)

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
        Wire(self._wires, sock, address, self._meet()).begin()


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
        "_keep",
        "_recv_into",
        "_send",
        "_sock",
        "_torn",
        "_wires",
        "protocol",
    )

    def __init__(
        self, wires: Wires, sock: socket.socket, address: Any, protocol: asyncio.BaseProtocol
    ) -> None:
        super().__init__()
        self._wires = wires
        self._sock = sock
        self._fd = sock.fileno()
        self._address = address
        self._recv_into = sock.recv_into
        self._send = sock.send
        self.protocol = cast(asyncio.Protocol, protocol)
        self._buffer: bytearray | None = None
        """What the socket did not take yet."""
        self._is_reading = True
        self._is_closing = False
        self._is_eof_due = False
        self._keep: Keep | None = None
        self._torn = 0
        """How much of what waits belongs to a line or a frame of which the socket took the beginning."""

    def begin(self) -> None:
        self.protocol.connection_made(self)
        self._watch()

    def be_kept(self, keep: Keep) -> None:
        self._keep = keep

    def go_on(self, torn: bytes, unsent: bytes) -> None:
        """Where another process stopped: with the rest of a line or a frame, and what else waited."""
        if torn or unsent:
            self._buffer, self._torn = bytearray(torn + unsent), len(torn)
            self.protocol.pause_writing()
        self._watch()

    @property
    def torn(self) -> bytes:
        return bytes(self._buffer[: self._torn]) if self._buffer else b""

    @property
    def unsent(self) -> bytes:
        """What waits behind that."""
        return bytes(self._buffer[self._torn :]) if self._buffer else b""

    def read(self) -> bytes | None:
        if not self._is_reading:
            return None
        buffer = self._wires.buffer
        try:
            size = self._recv_into(buffer)
        except (BlockingIOError, InterruptedError):
            return None
        except OSError as error:
            self._break_off(error)
            return None
        if not size:
            self.close()
        return buffer[:size].tobytes()

    def writable(self) -> None:
        if not self._buffer:
            return
        try:
            sent = self._send(self._buffer)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._break_off(error)
            return
        if self._keep is not None:
            self._tell_torn(self._keep, self._buffer, sent)
        del self._buffer[:sent]
        if self._buffer:
            return
        self._buffer = None
        self.protocol.resume_writing()
        if self._is_closing:
            self._break_off(None)
            return
        self._watch()
        if self._is_eof_due:
            self._send_eof()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._buffer:
            self._buffer += data
            return
        if self._fd < 0:
            return
        try:
            sent = self._send(data)
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError as error:
            self._break_off(error)
            return
        if sent < len(data):
            self._buffer = bytearray(data[sent:])
            self.protocol.pause_writing()
            if self._keep is not None:
                self._tell_torn(self._keep, bytes(data), sent)
            self._watch()

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
        self._is_reading = False
        if self._buffer:
            self._watch()
        else:
            self._break_off(None)

    def abort(self) -> None:
        self._break_off(None)

    def is_closing(self) -> bool:
        return self._is_closing

    def pause_reading(self) -> None:
        self._is_reading = False
        self._watch()

    def resume_reading(self) -> None:
        if not self._is_closing:
            self._is_reading = True
            self._watch()

    def is_reading(self) -> bool:
        return self._is_reading

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
            self._break_off(error)

    def _watch(self) -> None:
        if self._fd >= 0:
            self._wires.watch(
                self._fd, self, (_READ if self._is_reading else 0) | (_WRITE if self._buffer else 0)
            )

    def _break_off(self, error: Exception | None) -> None:
        """Now. Whoever stands on the wire learns it later, not in the middle of what it does."""
        if self._fd < 0:
            return
        self._wires.watch(self._fd, self, 0)
        self._fd = -1
        self._buffer = None
        self._is_closing, self._is_reading = True, False
        self._wires.loop.call_soon(self._lost, error)

    def _lost(self, error: Exception | None) -> None:
        self.protocol.connection_lost(error)
        # Each would keep the other until the garbage collector finds them.
        self.protocol = asyncio.Protocol()
        if self._keep is not None:
            self._keep = None
            # Whoever keeps the socket would keep it open.
            with contextlib.suppress(OSError):
                self._sock.shutdown(socket.SHUT_RDWR)
        self._sock.close()
