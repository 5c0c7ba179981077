"""How far a stream was read, as the kernel counts it."""

import asyncio
import socket

import pytest
from support.irc import connected
from support.network import Network

from culture.net.driver import Driver
from culture.net.listen.listeners import address_of, listening
from culture.net.restart.skip_line import SkipLine
from culture.net.restart.tcp_position import read_position


def test_what_was_taken_out_of_a_socket_counts_and_what_waits_in_it_does_not():
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket() as client:
        client.connect(listener.getsockname())
        server, _ = listener.accept()
        with server:
            assert read_position(server) == 0
            client.sendall(b"x" * 1000)
            assert len(server.recv(300, socket.MSG_WAITALL)) == 300
            assert read_position(server) == 300
            with socket.socket(fileno=socket.dup(server.fileno())) as other:
                assert read_position(other) == 300
                other.recv(700, socket.MSG_WAITALL)
            assert read_position(server) == 1000


def test_of_a_unix_socket_nobody_counts():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert read_position(ours) is None


@pytest.mark.parametrize("cut", [(b"IT :x\r\nPING y\r\n",), (b"QU", b"IT :x\r", b"\nPING y", b"\r\n")])
async def test_the_rest_of_a_line_is_not_taken_for_a_command(cut: tuple[bytes, ...]):
    with listening(["127.0.0.1:0"], []) as listeners:
        driver = Driver(Network().ircd)
        driver.serve(listeners)
        async with connected(address_of(listeners[0]).port, "spark-ori", "#a") as ori:
            [connection] = driver._connections.values()
            SkipLine(connection).begin()
            for part in cut:
                ori.writer.write(part)
                await ori.writer.drain()
                await asyncio.sleep(0)
            assert await ori.read() == ":spark PONG spark :y"
            ori.send("PING z")
            assert await ori.read() == ":spark PONG spark :z"
        await driver.stop()
