"""Many sockets by one call: each is served as if it were alone."""

import contextlib
import errno
import os
import random
import resource
import socket
import struct
from collections.abc import Iterator

import pytest

from culture.net.sockets.batch_io import OUT_BYTES, SLOT_BYTES, BatchIo, open_batch_io
from culture.net.sockets.epoll_loop import READ_BYTES
from culture.net.sockets.io_uring import ENTRIES

pytestmark = pytest.mark.usefixtures("io_uring")

# More than go by one call.
COUNT = ENTRIES + 50


class Pairs:
    def __init__(self, count: int) -> None:
        self._pairs = [socket.socketpair() for _ in range(count)]
        for ours, theirs in self._pairs:
            ours.setblocking(False)
            theirs.setblocking(False)
        self.theirs = [theirs for _, theirs in self._pairs]
        self.files = [ours.fileno() for ours, _ in self._pairs]
        self.broken: dict[int, int | None] = {}

    def broke(self, fd: int, error: OSError) -> None:
        self.broken[fd] = error.errno

    def close(self) -> None:
        for pair in self._pairs:
            for each in pair:
                each.close()


@pytest.fixture
def bulk() -> Iterator[BatchIo]:
    bulk = BatchIo()
    yield bulk
    bulk.close()


@pytest.fixture
def pairs() -> Iterator[Pairs]:
    pairs = Pairs(COUNT)
    yield pairs
    pairs.close()


def test_each_is_sent_its_own_piece(bulk: BatchIo, pairs: Pairs):
    pieces = [b"piece %d" % i for i in range(COUNT)]

    assert bulk.send(pairs.files, pieces, pairs.broke) == [len(piece) for piece in pieces]

    assert [theirs.recv(100) for theirs in pairs.theirs] == pieces


def test_all_are_sent_the_same_piece(bulk: BatchIo, pairs: Pairs):
    assert bulk.send(pairs.files, [b"good morning"] * COUNT, pairs.broke) == [12] * COUNT

    assert {theirs.recv(100) for theirs in pairs.theirs} == {b"good morning"}


def test_batches_of_any_size_follow_each_other(bulk: BatchIo, pairs: Pairs):
    sizes = random.Random(7)
    for turn in range(100):
        count = sizes.randint(1, COUNT)
        pieces = [b"%d of turn %d" % (i, turn) for i in range(count)]
        assert bulk.send(pairs.files[:count], pieces, pairs.broke) == [len(piece) for piece in pieces]
        for theirs in pairs.theirs[:count]:
            theirs.send(theirs.recv(100))
        assert bulk.receive(pairs.files[:count], READ_BYTES, pairs.broke) == pieces


def test_one_that_is_full_takes_nothing_and_the_others_take_all(bulk: BatchIo, pairs: Pairs):
    piece = b"x" * 50_000
    full = pairs.files[3]
    with contextlib.suppress(BlockingIOError):
        while os.write(full, piece):
            pass

    sent = bulk.send(pairs.files, [piece] * COUNT, pairs.broke)

    assert sent[3] == 0
    assert sent[:3] + sent[4:] == [len(piece)] * (COUNT - 1)
    assert not pairs.broken


def test_who_is_gone_is_told_of_and_takes_nobody_along(bulk: BatchIo, pairs: Pairs):
    pairs.theirs[4].close()

    sent = bulk.send(pairs.files, [b"hello"] * COUNT, pairs.broke)

    assert sent == [5] * 4 + [0] + [5] * (COUNT - 5)
    assert pairs.broken == {pairs.files[4]: errno.EPIPE}


def test_what_is_too_long_is_left_to_others(bulk: BatchIo, pairs: Pairs):
    assert bulk.send(pairs.files, [b"x" * (OUT_BYTES + 1)] * COUNT, pairs.broke) == []
    different = [b"x" * (OUT_BYTES // COUNT + i) for i in range(COUNT)]
    assert bulk.send(pairs.files, different, pairs.broke) == []


def test_words_nothing_and_the_end_are_told_apart(bulk: BatchIo, pairs: Pairs):
    for i, theirs in enumerate(pairs.theirs):
        if i % 3 == 0:
            theirs.send(b"words of %d" % i)
        elif i % 3 == 1:
            theirs.shutdown(socket.SHUT_WR)

    arrived = bulk.receive(pairs.files, READ_BYTES, pairs.broke)

    assert arrived == [(b"words of %d" % i, b"", None)[i % 3] for i in range(COUNT)]
    assert not pairs.broken


@pytest.mark.parametrize("size", [SLOT_BYTES - 1, SLOT_BYTES, SLOT_BYTES + 1, READ_BYTES])
def test_long_words_are_read_whole(bulk: BatchIo, pairs: Pairs, size: int):
    words = random.Random(size).randbytes(size)
    pairs.theirs[2].send(words)

    assert bulk.receive(pairs.files[:5], READ_BYTES, pairs.broke) == [None, None, words, None, None]


def test_no_more_is_read_than_was_asked_for(bulk: BatchIo, pairs: Pairs):
    pairs.theirs[0].send(b"x" * (READ_BYTES + 1))

    assert bulk.receive(pairs.files[:1], READ_BYTES, pairs.broke) == [b"x" * READ_BYTES]
    assert bulk.receive(pairs.files[:1], READ_BYTES, pairs.broke) == [b"x"]


def test_a_reset_is_told_of(bulk: BatchIo, pairs: Pairs):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        rude = socket.create_connection(listener.getsockname())
        ours, _ = listener.accept()
        with ours:
            rude.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            rude.close()

            assert bulk.receive([pairs.files[0], ours.fileno()], READ_BYTES, pairs.broke) == [None, None]

            assert pairs.broken == {ours.fileno(): errno.ECONNRESET}


def test_where_the_kernel_gives_none_the_journal_says_so(caplog: pytest.LogCaptureFixture):
    caplog.set_level("INFO")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest_free = os.dup(0)
    os.close(lowest_free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, limits[1]))
    try:
        assert open_batch_io() is None
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert "io_uring is not available (Too many open files); using one system call per socket" in caplog.text


def test_nothing_of_it_is_left_when_it_is_closed():
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        BatchIo().close()
    assert len(os.listdir("/proc/self/fd")) == before
