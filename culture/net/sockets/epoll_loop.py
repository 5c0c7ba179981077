"""Serve all plain sockets with one epoll instance, which asyncio watches as a single file descriptor.

asyncio creates a selector key, a handle and a context run for each readable socket, which costs most of the
time of a server that handles many short lines. Here one dispatch reads from all ready sockets, then passes
the data on, then flushes, because code between two system calls runs several times slower than code without
them.

State is indexed by file descriptor: with a thousand clients none of their objects is still in the
processor's cache, and each object that is not touched saves 0.1 us.
"""

import asyncio
import logging
import os
import select
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from typing import Any, Final, Protocol

from culture.ircd.session import Session
from culture.net.sockets.batch_io import MIN_SOCKETS, BatchIo

log = logging.getLogger(__name__)

# Sockets that one dispatch serves before asyncio runs its other callbacks.
EVENTS_PER_POLL: Final = 1024
READ_BYTES: Final = 16384
# How often the loop polls for more events before it sleeps (15 us in total). A client often answers a line at
# once, and a wake-up takes longer: fan-out of single messages to a hundred clients is 5 % faster.
SPIN_POLLS: Final = 20
# The same after a short gap, when the next gap is likely short too: 3 % faster. On a single processor
# spinning would only keep the clients from running.
LONG_SPIN_POLLS: Final = 250 if (os.cpu_count() or 1) > 1 else SPIN_POLLS
# Gaps shorter than this, about as long as LONG_SPIN_POLLS take, are followed by a long spin.
SHORT_GAP_S: Final = 0.0002

READ: Final = select.EPOLLIN
WRITE: Final = select.EPOLLOUT
# Edge-triggered reading: level-triggered epoll would report each socket twice.
READ_EDGE: Final = select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLET
# Interest of a listening socket. It differs from READ, so that _dispatch does not call read() on it.
ACCEPT: Final = select.EPOLLIN | select.EPOLLRDNORM


class EpollHandler(Protocol):
    """Handles the events of one file descriptor."""

    def on_readable(self, size: int) -> bytes | None:
        """Return up to `size` bytes, b"" at end of file, or None if there is nothing to read."""

    def on_error(self, error: OSError) -> None:
        """Handle a failed read or write."""

    def on_partial_write(self, data: bytes, sent: int) -> None:
        """Buffer the part of `data` after the first `sent` bytes, which the socket did not accept."""

    def on_writable(self) -> None:
        """Write buffered data."""

    def rearm(self) -> None:
        """Set the interest again, so that an edge-triggered epoll reports data that is still unread."""

    def close(self) -> None:
        """Close after buffered data was written."""

    def abort(self) -> None:
        """Close at once."""


# A file descriptor, the session whose line begins with the first byte (if known), and the data that was read.
Arrival = tuple[int, Session | None, bytes | None]


class EpollLoop:
    """Reads from and writes to many sockets in batches, on top of an asyncio event loop."""

    def __init__(
        self,
        before_dispatch: Callable[[], None],
        after_dispatch: Callable[[], None],
        batch_io: BatchIo | None = None,
        on_input: Callable[[Iterator[Arrival]], None] | None = None,
    ) -> None:
        """Call `before_dispatch` before and `after_dispatch` after all ready sockets are served.

        Without `batch_io` each socket takes one system call. `on_input` receives everything that one dispatch
        read, in the order in which it arrived, and passes what it does not handle to `EpollLoop.deliver`.
        Without `on_input` everything goes to `deliver`.
        """
        self._before_dispatch = before_dispatch
        self._after_dispatch = after_dispatch
        self._batch_io = batch_io
        self._on_input = self._deliver_all if on_input is None else on_input
        self.loop = asyncio.get_running_loop()
        self._epoll = select.epoll()
        # The next three lists are indexed by file descriptor.
        self._handlers: list[EpollHandler | None] = []
        # Protocols that receive the data; None for listening sockets.
        self._protocols: list[asyncio.Protocol | None] = []
        # Sessions whose next byte begins a line, so that the fast path may parse it.
        self._fast_path_sessions: list[Session | None] = []
        # File descriptors that epoll knows. A handler without interest is not among them.
        self._registered: set[int] = set()
        # Tells whether epoll has events, without consuming them.
        self._readiness = select.poll()
        self._readiness.register(self._epoll, select.POLLIN)
        self._last_dispatch_end_s = 0.0
        self.loop.add_reader(self._epoll.fileno(), self._dispatch)

    def stop(self) -> None:
        """Stop serving sockets. Data that arrives stays in the kernel, for the next process."""
        self.loop.remove_reader(self._epoll.fileno())

    def close(self) -> None:
        """Stop serving sockets and release epoll and io_uring."""
        if not self._epoll.closed:
            self.loop.remove_reader(self._epoll.fileno())
            self._epoll.close()
            if self._batch_io is not None:
                self._batch_io.close()

    def register(self, fd: int, handler: EpollHandler, protocol: asyncio.Protocol | None = None) -> None:
        """Route the events of `fd` to the handler and its data to the protocol, until `unregister` is called.

        Call it again to replace the protocol.
        """
        missing = [None] * (fd + 1 - len(self._handlers))
        self._handlers += missing
        self._protocols += missing
        self._fast_path_sessions += missing
        self._handlers[fd], self._protocols[fd], self._fast_path_sessions[fd] = handler, protocol, None

    def set_fast_path(self, fd: int, session: Session | None) -> None:
        """Set the session whose line begins with the next byte; None sends all data to the protocol."""
        self._fast_path_sessions[fd] = session

    def set_interest(self, fd: int, events_mask: int) -> None:
        """Wait for these epoll events only; 0 waits for none."""
        if not events_mask:
            # Epoll reports errors even for an empty interest, again and again.
            if fd in self._registered:
                self._registered.discard(fd)
                self._epoll.unregister(fd)
        elif fd in self._registered:
            self._epoll.modify(fd, events_mask)
        else:
            self._registered.add(fd)
            self._epoll.register(fd, events_mask)

    def unregister(self, fd: int) -> None:
        """Forget the handler of `fd`."""
        self.set_interest(fd, 0)
        self._handlers[fd] = self._protocols[fd] = self._fast_path_sessions[fd] = None

    def write(self, fds: Sequence[int], chunks: Sequence[bytes]) -> None:
        """Write one chunk to each file descriptor; handlers buffer what the sockets do not accept."""
        sent: list[int] = []
        if self._batch_io is not None and len(fds) >= MIN_SOCKETS:
            sent = self._batch_io.send(fds, chunks, self._on_error)
        writing = map(os.write, fds[len(sent) :], chunks[len(sent) :])
        # extend(map()) runs no Python code between two system calls, which saves 0.9 us each. After an error
        # `sent` keeps the results so far.
        while len(sent) < len(fds):
            try:
                sent.extend(writing)
            except BlockingIOError:
                sent.append(0)
            except OSError as error:
                self._on_error(fds[len(sent)], error)
                sent.append(0)
        if sent != [*map(len, chunks)]:
            for fd, chunk, size in zip(fds, chunks, sent, strict=True):
                handler = self._handlers[fd]
                if handler is not None and size < len(chunk):
                    handler.on_partial_write(chunk, size)

    def _dispatch(self) -> None:
        is_busy = time.monotonic() - self._last_dispatch_end_s < SHORT_GAP_S
        self._before_dispatch()
        events = self._epoll.poll(0, EVENTS_PER_POLL)
        readable = [fd for fd, events_mask in events if events_mask == READ]
        arrived = self._read(readable)
        if len(readable) < len(events):
            for fd, events_mask in events:
                if events_mask != READ:
                    readable.append(fd)
                    arrived.append(self._handle_other_events(fd, events_mask))
        self._on_input(
            zip(readable, map(self._fast_path_sessions.__getitem__, readable), arrived, strict=True)
        )
        self._after_dispatch()
        self._last_dispatch_end_s = time.monotonic()
        for _ in range(LONG_SPIN_POLLS if is_busy else SPIN_POLLS):
            if self._readiness.poll(0):
                break

    def _deliver_all(self, arrivals: Iterator[Arrival]) -> None:
        for fd, _, data in arrivals:
            self.deliver(fd, data)

    def deliver(self, fd: int, data: bytes | None) -> None:
        """Pass data to the protocol of `fd`, unless nothing was read or the connection ended meanwhile."""
        if (protocol := self._protocols[fd]) is None or data is None:
            return
        if 0 < len(data) < READ_BYTES:
            self.run_guarded(fd, protocol.data_received, data)
        else:
            self.run_guarded(fd, self._deliver_boundary, fd, protocol, data)

    def run_guarded(self, fd: int, act: Callable[..., None], *arguments: Any) -> None:
        """Call `act`; if it raises, close this connection only, because the others' data was read already."""
        try:
            act(*arguments)
        except Exception:
            log.exception("closing a connection")
            if (handler := self._handlers[fd]) is not None:
                handler.abort()

    def _read(self, readable: Sequence[int]) -> list[bytes | None]:
        """Read from each file descriptor, and return the results in the same order."""
        arrived: list[bytes | None] = []
        if self._batch_io is not None and len(readable) >= MIN_SOCKETS:
            arrived = self._batch_io.receive(readable, READ_BYTES, self._on_error)
        reading = map(os.read, readable[len(arrived) :], repeat(READ_BYTES))
        while len(arrived) < len(readable):
            try:
                arrived.extend(reading)
            except BlockingIOError:
                arrived.append(None)
            except OSError as error:
                self._on_error(readable[len(arrived)], error)
                arrived.append(None)
        return arrived

    def _handle_other_events(self, fd: int, events_mask: int) -> bytes | None:
        """Handle events other than plain readability: writable, end of file, error, listening socket."""
        data = None
        if events_mask & WRITE and (handler := self._handlers[fd]) is not None:
            handler.on_writable()
        if events_mask & ~WRITE and (handler := self._handlers[fd]) is not None:
            try:
                data = handler.on_readable(READ_BYTES)
            except BlockingIOError:
                pass
            except OSError as error:
                handler.on_error(error)
            if events_mask & ~(READ | WRITE):
                # End of file may follow the data that was read.
                handler.rearm()
        return data

    def _deliver_boundary(self, fd: int, protocol: asyncio.Protocol, data: bytes) -> None:
        """Handle an end of file, or a full read that may have left more data in the socket."""
        handler = self._handlers[fd]
        assert handler is not None
        if data:
            handler.rearm()
            protocol.data_received(data)
        else:
            handler.close()

    def _on_error(self, fd: int, error: OSError) -> None:
        if (handler := self._handlers[fd]) is not None:
            handler.on_error(error)
