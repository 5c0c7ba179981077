"""Plain sockets under an epoll of their own, which the event loop sees as one file.

asyncio makes a key, a handle and a context run of each socket that can be read; for a server whose work is
many short lines that is most of the time it takes. Here one turn reads from all of them, then passes on what
was read, then flushes: code between two system calls runs several times slower than code without them. It
reads and writes by the numbers of files: with a thousand clients nothing of theirs is still in the cache of
the processor when their turn comes, and each object that is not looked at saves a tenth of a microsecond.
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
from culture.net.bulk import FEWEST, Bulk

log = logging.getLogger(__name__)

AT_ONCE: Final = 1024
"""Sockets that are served in one turn, before everything else on the loop has its own."""
READ_BYTES: Final = 16384
LOOKS: Final = 20
"""At whether more has come, before the loop sleeps; all take 15 us. Whoever reads a line often answers
it at once, and to be woken takes longer: one message at a time to a hundred is delivered 5 % faster."""
MORE_LOOKS: Final = 250 if (os.cpu_count() or 1) > 1 else LOOKS
"""If there was hardly a pause before: it will be short again, and 3 % are won. With a single processor nobody
could say anything meanwhile."""
SOON_S: Final = 0.0002
"""What they take."""

READ: Final = select.EPOLLIN
WRITE: Final = select.EPOLLOUT
NEWS: Final = select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLET
"""Only when something comes. What is looked after until nothing is left is looked at twice as often."""
ARRIVALS: Final = select.EPOLLIN | select.EPOLLRDNORM
"""For what cannot be read from as a file: it is told apart by what the event says."""


class Watched(Protocol):
    def recv(self, size: int) -> bytes | None:
        """What there is to read. Nothing at all (None) is not the end (b"")."""

    def broke(self, error: OSError) -> None:
        """Reading or writing failed."""

    def fall_behind(self, data: bytes, sent: int) -> None:
        """Not all of it could be written."""

    def writable(self) -> None: ...

    def look_again(self) -> None:
        """There may be more to read than was read."""

    def close(self) -> None: ...

    def abort(self) -> None: ...


Arrival = tuple[int, Session | None, bytes | None]
"""The number of a file, whose line it begins with, and what was read of it."""


class Wires:
    """`begin_turn` is called before sockets are served, `end_turn` after all of them were."""

    def __init__(
        self,
        begin_turn: Callable[[], None],
        end_turn: Callable[[], None],
        bulk: Bulk | None = None,
        hear: Callable[[Iterator[Arrival]], None] | None = None,
    ) -> None:
        """Without `bulk` sockets are served one by one.

        `hear` is passed all that was read in a turn, in the order in which it came. What it does not see to
        it passes on to `Wires.hear`; without it that is everything.
        """
        self._begin_turn = begin_turn
        self._end_turn = end_turn
        self._bulk = bulk
        self._hear = self._pass_on if hear is None else hear
        self.loop = asyncio.get_running_loop()
        self._epoll = select.epoll()
        self._files: list[Watched | None] = []
        """By number: what is held."""
        self._hearers: list[asyncio.Protocol | None] = []
        """By number: who is told what was read of it. Nobody, of what is not read from as a file."""
        self._speakers: list[Session | None] = []
        """By number: whose line begins with the next byte, if that is known."""
        self._registered: set[int] = set()
        """The numbers that the epoll knows: what waits for nothing is held without."""
        self._news = select.poll()
        """Tells whether the epoll has something to say, and leaves it there."""
        self._news.register(self._epoll, select.POLLIN)
        self._ended_at = 0.0
        """When the last turn was over."""
        self.loop.add_reader(self._epoll.fileno(), self._turn)

    def rest(self) -> None:
        """Serve nobody any more. What comes stays where it is."""
        self.loop.remove_reader(self._epoll.fileno())

    def close(self) -> None:
        if not self._epoll.closed:
            self.loop.remove_reader(self._epoll.fileno())
            self._epoll.close()
            if self._bulk is not None:
                self._bulk.close()

    def hold(self, fd: int, watched: Watched, hearer: asyncio.Protocol | None = None) -> None:
        """Until it is let go of. The hearer is told what was read, and may be another from now on."""
        missing = [None] * (fd + 1 - len(self._files))
        self._files += missing
        self._hearers += missing
        self._speakers += missing
        self._files[fd], self._hearers[fd], self._speakers[fd] = watched, hearer, None

    def let_speak(self, fd: int, session: Session | None) -> None:
        self._speakers[fd] = session

    def watch(self, fd: int, what: int) -> None:
        """From now on for this, and nothing else; for nothing at all if there is nothing to wait for."""
        if not what:
            # Even an interest in nothing would be told of errors, for ever.
            if fd in self._registered:
                self._registered.discard(fd)
                self._epoll.unregister(fd)
        elif fd in self._registered:
            self._epoll.modify(fd, what)
        else:
            self._registered.add(fd)
            self._epoll.register(fd, what)

    def let_go(self, fd: int) -> None:
        self.watch(fd, 0)
        self._files[fd] = self._hearers[fd] = self._speakers[fd] = None

    def write(self, files: Sequence[int], pieces: Sequence[bytes]) -> None:
        """To each its piece."""
        sent: list[int] = []
        if self._bulk is not None and len(files) >= FEWEST:
            sent = self._bulk.send(files, pieces, self._broke)
        writing = map(os.write, files[len(sent) :], pieces[len(sent) :])
        # No step of Python between two system calls: 0.9 us less for each. An error leaves what was sent.
        while len(sent) < len(files):
            try:
                sent.extend(writing)
            except BlockingIOError:
                sent.append(0)
            except OSError as error:
                self._broke(files[len(sent)], error)
                sent.append(0)
        if sent != [*map(len, pieces)]:
            for fd, piece, size in zip(files, pieces, sent, strict=True):
                one = self._files[fd]
                if one is not None and size < len(piece):
                    one.fall_behind(piece, size)

    def _turn(self) -> None:
        was_soon = time.monotonic() - self._ended_at < SOON_S
        self._begin_turn()
        events = self._epoll.poll(0, AT_ONCE)
        readable = [fd for fd, what in events if what == READ]
        arrived = self._read(readable)
        if len(readable) < len(events):
            for fd, what in events:
                if what != READ:
                    readable.append(fd)
                    arrived.append(self._look_closer(fd, what))
        self._hear(zip(readable, map(self._speakers.__getitem__, readable), arrived, strict=True))
        self._end_turn()
        self._ended_at = time.monotonic()
        for _ in range(MORE_LOOKS if was_soon else LOOKS):
            if self._news.poll(0):
                break

    def _pass_on(self, arrivals: Iterator[Arrival]) -> None:
        for fd, _, data in arrivals:
            self.hear(fd, data)

    def hear(self, fd: int, data: bytes | None) -> None:
        """What was read of it. Nothing if nothing was, or if it was ended by another in this turn."""
        if (hearer := self._hearers[fd]) is None or data is None:
            return
        if 0 < len(data) < READ_BYTES:
            self.attempt(fd, hearer.data_received, data)
        else:
            self.attempt(fd, self._end_or_go_on, fd, hearer, data)

    def attempt(self, fd: int, act: Callable[..., None], *arguments: Any) -> None:
        """A bug costs the one that brings it out. The others were read from already."""
        try:
            act(*arguments)
        except Exception:
            log.exception("closing a connection")
            if (one := self._files[fd]) is not None:
                one.abort()

    def _read(self, readable: Sequence[int]) -> list[bytes | None]:
        """From each, in their order."""
        arrived: list[bytes | None] = []
        if self._bulk is not None and len(readable) >= FEWEST:
            arrived = self._bulk.receive(readable, READ_BYTES, self._broke)
        reading = map(os.read, readable[len(arrived) :], repeat(READ_BYTES))
        while len(arrived) < len(readable):
            try:
                arrived.extend(reading)
            except BlockingIOError:
                arrived.append(None)
            except OSError as error:
                self._broke(readable[len(arrived)], error)
                arrived.append(None)
        return arrived

    def _look_closer(self, fd: int, what: int) -> bytes | None:
        """At one of which there is more to say than that something can be read."""
        data = None
        if what & WRITE and (one := self._files[fd]) is not None:
            one.writable()
        if what & ~WRITE and (one := self._files[fd]) is not None:
            try:
                data = one.recv(READ_BYTES)
            except BlockingIOError:
                pass
            except OSError as error:
                one.broke(error)
            if what & ~(READ | WRITE):
                # The end may stand behind what was read.
                one.look_again()
        return data

    def _end_or_go_on(self, fd: int, hearer: asyncio.Protocol, data: bytes) -> None:
        """Nothing more will come, or there may be more than was read."""
        one = self._files[fd]
        assert one is not None
        if data:
            one.look_again()
            hearer.data_received(data)
        else:
            one.close()

    def _broke(self, fd: int, error: OSError) -> None:
        if (one := self._files[fd]) is not None:
            one.broke(error)
