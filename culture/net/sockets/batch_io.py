"""Read from or write to many sockets with one system call (io_uring)."""

import ctypes
import errno
import logging
import mmap
import os
from array import array
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Final

from culture.net.sockets.io_uring import ENTRIES, RECEIVE, SEND, IoUring

log = logging.getLogger(__name__)

# Below this number of sockets one system call each is as fast or faster; the two break even at eight.
MIN_SOCKETS: Final = 16
# Bytes that the batch reads per socket. A second call reads the rest of the few sockets that have more.
SLOT_BYTES: Final = 2048
# Bytes that one batch writes. For larger output copying dominates, so batching saves nothing.
OUT_BYTES: Final = 1 << 18

# Called with a file descriptor whose read or write failed.
OnError = Callable[[int, OSError], None]


class BatchIo:
    """Reads and writes in batches. Results may end early: the remaining sockets were not tried."""

    def __init__(self) -> None:
        """Raise OSError if io_uring is not available to this process."""
        self._ring = IoUring()
        self._out = mmap.mmap(-1, OUT_BYTES)
        self._out_at = _address(self._out)
        self._in = mmap.mmap(-1, ENTRIES * SLOT_BYTES)
        in_at = _address(self._in)
        self._slots = array("Q", range(in_at, in_at + len(self._in), SLOT_BYTES))
        self._slot_sizes = array("I", (SLOT_BYTES,)) * ENTRIES

    def close(self) -> None:
        """Release the io_uring."""
        self._ring.close()

    def send(self, fds: Sequence[int], pieces: Sequence[bytes], on_error: OnError) -> list[int]:
        """Write one piece to each file descriptor, and return how many bytes each accepted."""
        whole, count = pieces[0], len(pieces)
        # A message to many clients is one shared object, so that first and last piece are identical.
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
        sent = self._ring.run(SEND, fds, addresses, sizes)
        if sent and min(sent) < 0:
            return [
                size if size >= 0 else _report_error(fd, size, on_error)
                for fd, size in zip(fds, sent, strict=False)
            ]
        return sent

    def receive(self, fds: Sequence[int], most_bytes: int, on_error: OnError) -> list[bytes | None]:
        """Return what each file descriptor had to read; None if it had nothing or failed."""
        arrived: list[bytes | None] = []
        words = self._in
        while len(arrived) < len(fds):
            some = fds[len(arrived) : len(arrived) + ENTRIES]
            came = self._ring.run(RECEIVE, some, self._slots, self._slot_sizes)
            for fd, size, start in zip(some, came, range(0, len(words), SLOT_BYTES), strict=False):
                if size < 0:
                    _report_error(fd, size, on_error)
                    arrived.append(None)
                    continue
                data = words[start : start + size]
                arrived.append(data if size < SLOT_BYTES else data + _read_rest(fd, most_bytes - SLOT_BYTES))
            if len(came) < len(some):
                break
        return arrived


def open_batch_io() -> BatchIo | None:
    """Return a BatchIo, or None if io_uring is not available."""
    try:
        return BatchIo()
    except OSError as error:
        log.info("io_uring is not available (%s); using one system call per socket", error.strerror)
        return None


def _address(room: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(room))


def _report_error(fd: int, error: int, on_error: OnError) -> int:
    if -error != errno.EAGAIN:
        on_error(fd, OSError(-error, os.strerror(-error)))
    return 0


def _read_rest(fd: int, size: int) -> bytes:
    try:
        return os.read(fd, size)
    except OSError:
        # The next read of this socket reports the same error.
        return b""
