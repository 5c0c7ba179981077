"""The last line reaches who is let go, also in the middle of what they say."""

import asyncio
import socket

import pytest
from support.network import Network

from culture.config.ircd import Limits
from culture.net.driver import Driver
from culture.net.listen.listeners import address_of, listening

DEADLINE_S = 10.0


def talk_first_and_listen_then(port: int, words: bytes) -> bytes:
    """As simple clients do: nothing is read before everything is sent."""
    with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S) as sock:
        sock.sendall(words)
        heard = b""
        while data := sock.recv(65536):
            heard += data
    return heard


@pytest.mark.parametrize("rate", [0, 10])
async def test_who_is_let_go_while_talking_reads_why(rate: int, eventually):
    """With a rate, most of what it says waits unread at that moment."""
    limits = Limits(local_rate_lines_per_s=rate, local_burst_lines=5)
    with listening(("127.0.0.1:0",), []) as listeners:
        driver = Driver(Network(limits=limits).ircd)
        driver.serve(listeners)
        port = address_of(listeners[0]).port
        words = (b"PONG " + b"x" * 500 + b"\r\n") * 30_000
        talking = asyncio.create_task(asyncio.to_thread(talk_first_and_listen_then, port, words))
        (session,) = await eventually(lambda: driver.ircd.sessions)
        driver.ircd.close(session, "That will do")
        driver.wake()
        heard = await asyncio.wait_for(talking, DEADLINE_S)
        await driver.stop()
    assert heard == b"ERROR :Closing Link: spark (That will do)\r\n"
