"""Sockets that are served together, and do not suffer for each other."""

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator

import pytest

from culture.net.listen.acceptor import Acceptor
from culture.net.listen.listeners import address_of, listening
from culture.net.sockets.epoll_loop import READ_BYTES, EpollLoop

DEADLINE_S = 10.0


class Echo(asyncio.Protocol):
    """Sends back what it gets, all at once; a bug comes out when it gets `bug`."""

    def __init__(self, there: set["Echo"]) -> None:
        self._there = there

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._there.add(self)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if data == b"bug":
            raise RuntimeError("a bug")
        self._transport.write(data)

    def connection_lost(self, error: Exception | None) -> None:
        self._there.discard(self)


@pytest.fixture
async def port(eventually) -> AsyncIterator[int]:
    there: set[Echo] = set()
    with listening(("127.0.0.1:0",), []) as listeners:
        wires = EpollLoop(lambda: None, lambda: None)
        door = Acceptor(wires, listeners[0], lambda: Echo(there))
        yield address_of(listeners[0]).port
        door.close()
        await eventually(lambda: not there)
        wires.close()


async def test_what_a_slow_reader_does_not_take_is_kept_for_it(port: int):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    words = bytes(range(256)) * 16_000
    writer.write(words)
    assert await asyncio.wait_for(reader.readexactly(len(words)), DEADLINE_S) == words
    writer.close()


async def test_a_bug_costs_the_one_that_brings_it_out(port: int, caplog: pytest.LogCaptureFixture):
    hostile = await asyncio.open_connection("127.0.0.1", port)
    others = [await asyncio.open_connection("127.0.0.1", port) for _ in range(5)]
    # In one turn, since nothing waits in between.
    for _, writer in (others[0], hostile, *others[1:]):
        writer.write(b"bug" if writer is hostile[1] else b"hello")
    for reader, writer in others:
        assert await asyncio.wait_for(reader.readexactly(5), DEADLINE_S) == b"hello"
        writer.close()
    assert await asyncio.wait_for(hostile[0].read(), DEADLINE_S) == b""
    hostile[1].close()
    assert "closing a connection" in caplog.text


async def test_an_end_that_came_with_the_words_is_seen(port: int):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    # As much as is read at once, so that the end stands behind it.
    writer.write(b"x" * READ_BYTES)
    writer.write_eof()
    assert await asyncio.wait_for(reader.read(), DEADLINE_S) == b"x" * READ_BYTES
    writer.close()


async def test_one_that_is_reset_takes_nobody_along(port: int):
    others = [await asyncio.open_connection("127.0.0.1", port) for _ in range(4)]
    _, rude = await asyncio.open_connection("127.0.0.1", port)
    for _, writer in others[:2]:
        writer.write(b"hello")
    rude.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    rude.write(b"hello")
    rude.transport.abort()
    for _, writer in others[2:]:
        writer.write(b"hello")
    for reader, writer in others:
        assert await asyncio.wait_for(reader.readexactly(5), DEADLINE_S) == b"hello"
        writer.close()


async def test_one_that_another_ended_in_the_same_turn_is_not_heard_any_more(eventually):
    heard: list[bytes] = []
    transports: list[asyncio.Transport] = []

    class Ending(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            transports.append(transport)

        def data_received(self, data: bytes) -> None:
            heard.append(data)
            for transport in transports:
                transport.abort()

    with listening(("127.0.0.1:0",), []) as listeners:
        wires = EpollLoop(lambda: None, lambda: None)
        door = Acceptor(wires, listeners[0], Ending)
        port = address_of(listeners[0]).port
        clients = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
        await eventually(lambda: len(transports) == len(clients))
        # In one turn, since nothing waits in between.
        for _, writer in clients:
            writer.write(b"hello")
        for reader, writer in clients:
            # To end a connection that has unread words is to reset it.
            with contextlib.suppress(ConnectionResetError):
                assert await asyncio.wait_for(reader.read(), DEADLINE_S) == b""
            writer.close()
        assert heard == [b"hello"]
        door.close()
        wires.close()


async def test_who_sends_an_end_still_reads_the_answer(port: int):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"hello")
    writer.write_eof()
    assert await asyncio.wait_for(reader.read(), DEADLINE_S) == b"hello"
    writer.close()
