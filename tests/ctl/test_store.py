"""Sockets that `culturectl up` keeps for its children."""

import contextlib
import os
import socket

from culture.ctl.up.fd_store import ChildFdStore


async def test_what_both_sides_shut_down_is_let_go():
    ours, theirs = socket.socketpair()
    with contextlib.closing(ChildFdStore(10)) as store, ours, theirs:
        store.put("c", [os.dup(ours.fileno())])
        assert list(store.fds.values()) == ["c"]
        theirs.close()
        ours.close()
        assert store.fds == {}


async def test_there_is_room_for_so_many():
    with contextlib.closing(ChildFdStore(1)) as store, socket.socket() as sock, socket.socket() as other:
        for each in (sock, other):
            each.bind(("127.0.0.1", 0))
            each.listen()
        store.put("c", [os.dup(sock.fileno()), os.dup(other.fileno())])
        assert len(store.fds) == 1
