"""Sockets that the service manager keeps (sd_notify(3), FDSTORE=1)."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from culture.systemd.fdstore import FDS_PER_MESSAGE, FdStore


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.setblocking(False)
        yield manager


@pytest.fixture
def store(tmp_path: Path, manager: socket.socket) -> Iterator[FdStore]:
    store = FdStore({"NOTIFY_SOCKET": str(tmp_path / "notify"), "FDSTORE": "1000"})
    yield store
    store.close()


def take(manager: socket.socket) -> tuple[str, int]:
    told, fds, _, _ = socket.recv_fds(manager, 4096, 253)
    for fd in fds:
        os.close(fd)
    return told.decode(), len(fds)


def test_those_of_one_name_go_together(store: FdStore, manager: socket.socket):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        store.put("c", ours)
        store.put("w", theirs)
        store.put("c", theirs)
        assert store.is_waiting
        assert store.hand_over()
        assert not store.is_waiting
    assert take(manager) == ("FDSTORE=1\nFDNAME=c", 2)
    assert take(manager) == ("FDSTORE=1\nFDNAME=w", 1)


def test_one_message_carries_no_more_than_the_kernel_takes(store: FdStore, manager: socket.socket):
    with socket.socket() as sock:
        for _ in range(FDS_PER_MESSAGE + 1):
            store.put("c", sock)
        assert store.hand_over()
    assert [take(manager)[1], take(manager)[1]] == [FDS_PER_MESSAGE, 1]


def test_what_a_busy_manager_does_not_take_waits(store: FdStore, manager: socket.socket):
    with socket.socket() as sock:
        handed_over = 0
        store.put("c", sock)
        while store.hand_over():
            handed_over += 1
            store.put("c", sock)
        assert store.is_waiting
        assert not store.hand_over(0.01)
        for _ in range(handed_over):
            take(manager)
        assert store.hand_over()
    assert take(manager) == ("FDSTORE=1\nFDNAME=c", 1)


def test_what_was_closed_meanwhile_is_left_out(store: FdStore, manager: socket.socket):
    sock = socket.socket()
    store.put("c", sock)
    sock.close()
    assert store.hand_over()
    with pytest.raises(BlockingIOError):
        take(manager)


@pytest.mark.parametrize(
    "env", [{}, {"FDSTORE": "10"}, {"NOTIFY_SOCKET": "/n"}, {"NOTIFY_SOCKET": "/n", "FDSTORE": "0"}]
)
def test_where_there_is_no_store_there_is_no_room(env: dict[str, str]):
    store = FdStore(env)
    assert store.room == 0
    assert store.hand_over()
