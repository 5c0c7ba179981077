"""Sockets that `culturectl up` keeps for its children."""

import contextlib
import os
import socket

from culture.ctl.store import Store


async def test_what_both_sides_shut_down_is_let_go():
    ours, theirs = socket.socketpair()
    with contextlib.closing(Store(10)) as store, ours, theirs:
        store.put("c", [os.dup(ours.fileno())])
        assert list(store.kept.values()) == ["c"]
        theirs.close()
        ours.close()
        assert store.kept == {}


async def test_there_is_room_for_so_many():
    with contextlib.closing(Store(1)) as store, socket.socket() as sock, socket.socket() as other:
        for each in (sock, other):
            each.bind(("127.0.0.1", 0))
            each.listen()
        store.put("c", [os.dup(sock.fileno()), os.dup(other.fileno())])
        assert len(store.kept) == 1
