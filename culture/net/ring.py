"""An io_uring: many operations on sockets by one system call, all of them over when it returns.

None of them waits: what a socket cannot do at once it refuses, as it does to who asks it alone. So nothing
of the kernel's own concurrency is in use here, and an operation may be tried again in the ordinary way.
"""

import ctypes
import errno
import mmap
import os
import socket
from array import array
from collections.abc import Sequence
from typing import Final

ENTRIES: Final = 256
"""Operations by one call. With four times as many no difference shows."""
SEND: Final = 26
RECEIVE: Final = 27

_SETUP: Final = 425
_ENTER: Final = 426
"""Numbers of system calls, the same on every architecture."""
_GET_EVENTS: Final = 1
_OF_ONE_THREAD: Final = 1 << 12 | 1 << 13
"""Operations are begun, and come to their end, in nothing but the calls of one thread. Since Linux 6.1."""
_SENDS: Final = 1 << 5
"""IORING_FEAT_FAST_POLL. Linux has it since 5.7, and the operations that are wanted here since 5.6."""
_QUEUES_AT: Final = 0
_OPERATIONS_AT: Final = 0x10000000
_HOW: Final = socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL

_WORDS: Final = 16
"""An operation takes 64 bytes: the words of 32 bits below, and longer ones between them."""
_WHAT, _FILE, _SIZE, _FLAGS = 0, 1, 6, 7
_LONGS: Final = 8
_ADDRESS, _MARK = 2, 4
_RESULT_WORDS: Final = 4
"""What comes of one takes 16: its mark, the result, and what is of no interest here."""

_libc = ctypes.CDLL(None, use_errno=True)
_setup, _enter = _libc["syscall"], _libc["syscall"]
_setup.argtypes = [ctypes.c_long, ctypes.c_uint, ctypes.c_void_p]
_enter.argtypes = [ctypes.c_long, *[ctypes.c_uint] * 4, ctypes.c_void_p, ctypes.c_size_t]
_setup.restype = _enter.restype = ctypes.c_long


class Ring:
    """Only for the thread that made it. OSError: this kernel has none, or not for us."""

    def __init__(self) -> None:
        fd, layout = _set_up()
        self._fd = fd
        entries, results = layout[0], layout[1]
        # Ten words of their own, struct io_sqring_offsets, struct io_cqring_offsets.
        tail_at, numbers_at = layout[11], layout[16]
        head_at, results_at = layout[20], layout[25]
        size = max(numbers_at + entries * 4, results_at + results * _RESULT_WORDS * 4)
        try:
            self._queues = mmap.mmap(fd, size, offset=_QUEUES_AT)
            self._operations = mmap.mmap(fd, entries * _WORDS * 4, offset=_OPERATIONS_AT)
        except OSError:
            os.close(fd)
            raise
        self._entries, self._results = entries, results
        self._words = memoryview(self._operations).cast("I")
        self._longs = memoryview(self._operations).cast("Q")
        queues = memoryview(self._queues)
        self._tail = queues[tail_at : tail_at + 4].cast("I")
        self._head = queues[head_at : head_at + 4].cast("I")
        ending = queues[results_at : results_at + results * _RESULT_WORDS * 4]
        self._marks, self._came = ending.cast("Q"), ending.cast("i")
        queues[numbers_at : numbers_at + entries * 4].cast("I")[:] = array("I", range(entries))
        self._words[_FLAGS::_WORDS] = array("I", (_HOW,)) * entries
        self._in_order = [*range(entries)]
        self._longs[_MARK::_LONGS] = array("Q", self._in_order)
        self._at = 0
        """How many operations there were, as far as 32 bits can tell."""

    def close(self) -> None:
        for view in (self._words, self._longs, self._tail, self._head, self._marks, self._came):
            view.release()
        os.close(self._fd)

    def run(self, what: int, files: Sequence[int], addresses: "array[int]", sizes: "array[int]") -> list[int]:
        """What came of each: a size, or an error's number below zero. The last may be missing: not tried."""
        came: list[int] = []
        while (done := len(came)) < len(files):
            first = self._at % self._entries
            count = min(len(files) - done, self._entries - first)
            until, behind = done + count, first + count
            words, longs = self._words, self._longs
            words[first * _WORDS + _WHAT : behind * _WORDS : _WORDS] = array("I", (what,)) * count
            words[first * _WORDS + _FILE : behind * _WORDS : _WORDS] = array("I", files[done:until])
            words[first * _WORDS + _SIZE : behind * _WORDS : _WORDS] = sizes[done:until]
            longs[first * _LONGS + _ADDRESS : behind * _LONGS : _LONGS] = addresses[done:until]
            some = self._submit(first, count)
            came += some
            if len(some) < count:
                break
        return came

    def _submit(self, first: int, count: int) -> list[int]:
        begun = self._at
        self._tail[0] = (begun + count) % 2**32
        done = max(_enter(_ENTER, self._fd, count, count, _GET_EVENTS, None, 0), 0)
        self._at = self._tail[0] = self._head[0] = (begun + done) % 2**32
        at = begun % self._results
        marks = self._marks[2 * at : 2 * (at + done) : 2].tolist()
        came = self._came[_RESULT_WORDS * at + 2 : _RESULT_WORDS * (at + done) : _RESULT_WORDS].tolist()
        # The order is that of the operations, as none of them waits; the kernel does not promise it.
        if marks == self._in_order[first : first + done]:
            return came
        return [result for _, result in sorted(zip(marks, came, strict=True))]


def _set_up() -> tuple[int, Sequence[int]]:
    """Its file, and the words of struct io_uring_params."""
    for flags in (_OF_ONE_THREAD, 0):
        layout = (ctypes.c_uint32 * 30)()
        layout[2] = flags
        fd = int(_setup(_SETUP, ENTRIES, ctypes.addressof(layout)))
        if fd >= 0 and layout[5] & _SENDS:
            return fd, list(layout)
        if fd >= 0:
            os.close(fd)
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    raise OSError(error := ctypes.get_errno(), os.strerror(error))
