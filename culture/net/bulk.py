"""Many sockets read from, or written to, by one system call."""

import ctypes
import errno
import logging
import mmap
import os
from array import array
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Final

from culture.net.ring import ENTRIES, RECEIVE, SEND, Ring

log = logging.getLogger(__name__)

FEWEST: Final = 16
"""Sockets for which it is worth while: eight are served as fast one by one, and fewer of them faster."""
SLOT_BYTES: Final = 2048
"""That are read of a socket by the call. Of the few that have more the rest is read by another."""
OUT_BYTES: Final = 1 << 18
"""That are written by one call. What is longer takes its time to be copied, not to be called for."""

Broke = Callable[[int, OSError], None]
"""Is told of a file that failed."""


class Bulk:
    """What it answers may end early: the rest was not tried. OSError: the kernel has no such call for us."""

    def __init__(self) -> None:
        self._ring = Ring()
        self._out = mmap.mmap(-1, OUT_BYTES)
        self._out_at = _address(self._out)
        self._in = mmap.mmap(-1, ENTRIES * SLOT_BYTES)
        in_at = _address(self._in)
        self._slots = array("Q", range(in_at, in_at + len(self._in), SLOT_BYTES))
        self._slot_sizes = array("I", (SLOT_BYTES,)) * ENTRIES

    def close(self) -> None:
        self._ring.close()

    def send(self, files: Sequence[int], pieces: Sequence[bytes], broke: Broke) -> list[int]:
        """To each its piece. How much of it was taken."""
        whole, count = pieces[0], len(pieces)
        # What is said to many is one piece, and then the last is the first.
        if pieces[-1] is whole and pieces.count(whole) == count:
            sizes = array("I", (len(whole),)) * count
            addresses = array("Q", (self._out_at,)) * count
        else:
            sizes = array("I", map(len, pieces))
            addresses = array("Q", accumulate(sizes[:-1], initial=self._out_at))
            whole = b"".join(pieces) if sum(sizes) <= OUT_BYTES else b""
        if not 0 < len(whole) <= OUT_BYTES:
            return []
        self._out[: len(whole)] = whole
        sent = self._ring.run(SEND, files, addresses, sizes)
        if sent and min(sent) < 0:
            return [
                size if size >= 0 else _refused(fd, size, broke)
                for fd, size in zip(files, sent, strict=False)
            ]
        return sent

    def receive(self, files: Sequence[int], most_bytes: int, broke: Broke) -> list[bytes | None]:
        """What each had to read; None of those that had nothing, or failed."""
        arrived: list[bytes | None] = []
        words = self._in
        while len(arrived) < len(files):
            some = files[len(arrived) : len(arrived) + ENTRIES]
            came = self._ring.run(RECEIVE, some, self._slots, self._slot_sizes)
            for fd, size, start in zip(some, came, range(0, len(words), SLOT_BYTES), strict=False):
                if size < 0:
                    _refused(fd, size, broke)
                    arrived.append(None)
                    continue
                data = words[start : start + size]
                arrived.append(data if size < SLOT_BYTES else data + _rest(fd, most_bytes - SLOT_BYTES))
            if len(came) < len(some):
                break
        return arrived


def bulk_if_possible() -> Bulk | None:
    try:
        return Bulk()
    except OSError as error:
        log.info("sockets are served one by one: io_uring: %s", error.strerror)
        return None


def _address(room: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(room))


def _refused(fd: int, error: int, broke: Broke) -> int:
    if -error != errno.EAGAIN:
        broke(fd, OSError(-error, os.strerror(-error)))
    return 0


def _rest(fd: int, size: int) -> bytes:
    try:
        return os.read(fd, size)
    except OSError:
        # Whatever it is, it is there when it is looked at again.
        return b""
