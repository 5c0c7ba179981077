"""Clients behind a proxy: who they are is what the proxy says, and only a proxy may say it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from ipaddress import ip_address

import pytest
from support.irc import Plain
from support.network import Network

from culture.config.ircd import Limits, Sts
from culture.net.driver import Driver
from culture.net.listen.listeners import address_of, listening
from culture.net.listen.proxy_header import V2_SIGNATURE

V1 = b"PROXY TCP4 192.0.2.1 192.0.2.9 4711 6667\r\n"


def v2(source: str, vectors: bytes = b"") -> bytes:
    block = ip_address(source).packed + ip_address("2001:db8::9").packed + b"\x12\x67\x1a\x0b" + vectors
    return V2_SIGNATURE + b"\x21\x21" + len(block).to_bytes(2, "big") + block


@contextlib.asynccontextmanager
async def serving(*proxies: str, **limits: int) -> AsyncIterator[tuple[Driver, int]]:
    with listening(("127.0.0.1:0",), []) as listeners:
        driver = Driver(Network(limits=Limits(**limits), proxies=proxies).ircd)
        driver.serve(listeners)
        yield driver, address_of(listeners[0]).port
        await driver.stop()


async def connect(port: int, header: bytes) -> Plain:
    plain = Plain(*await asyncio.open_connection("127.0.0.1", port))
    plain.writer.write(header)
    return plain


@pytest.mark.parametrize(
    ("header", "host", "peer", "is_secure"),
    [
        (V1, "192.0.2.1", "192.0.2.1:4711", False),
        (v2("2001:db8::1"), "2001:db8::1", "[2001:db8::1]:4711", False),
        (v2("2001:db8::1", b"\x20\0\x05\x01\0\0\0\0"), "2001:db8::1", "[2001:db8::1]:4711", True),
        (v2("::ffff:192.0.2.7"), "192.0.2.7", "192.0.2.7:4711", False),
        (V2_SIGNATURE + b"\x20\x00\0\0", "spark", None, False),
    ],
)
async def test_the_header_says_who_it_is(header: bytes, host: str, peer: str | None, is_secure: bool):
    async with serving("127.0.0.0/8") as (driver, port):
        plain = await connect(port, header + b"NICK spark-ori\r\n")
        plain.send("USER o 0 * :o")
        assert (await plain.until(" 001 ")).endswith(f"spark-ori!o@{host}")
        (session,) = driver.ircd.sessions
        assert session.is_secure is is_secure
        assert peer is None or session.peer == peer
        await plain.close()


@pytest.mark.parametrize(
    ("header", "policy"),
    [(V1, "sts=port=6697"), (v2("2001:db8::1", b"\x20\0\x05\x01\0\0\0\0"), "sts=duration=600")],
)
async def test_who_came_to_the_proxy_in_the_clear_is_led_to_tls(header: bytes, policy: str):
    """IRCv3 sts: the port to who came without TLS, the duration to who came with it."""
    with listening(("127.0.0.1:0",), []) as listeners:
        driver = Driver(Network(proxies=("127.0.0.1",), sts=Sts(port=6697, duration_s=600)).ircd)
        driver.serve(listeners)
        plain = await connect(address_of(listeners[0]).port, header + b"CAP LS 302\r\n")
        assert policy in (await plain.until("sts=")).replace(":", " ").split()
        await plain.close()
        await driver.stop()


async def test_who_is_refused_may_have_said_something_already(caplog: pytest.LogCaptureFixture):
    async with serving("127.0.0.1", clients=1) as (_, port):
        first = await connect(port, V1 + b"NICK spark-ori\r\nUSER o 0 * :o\r\n")
        await first.until(" 001 ")
        second = await connect(port, V1 + b"NICK spark-bo\r\n")
        assert await second.read() == "ERROR :Closing Link: 192.0.2.1 (Too many connections)"
        assert await second.read() == ""
        await second.close()
        first.send("PING x")
        await first.until("PONG")
        await first.close()
    assert "closing a connection" not in caplog.text


async def test_a_header_that_comes_byte_by_byte_is_whole_in_the_end():
    async with serving("127.0.0.1") as (_, port):
        plain = await connect(port, b"")
        for byte in V1:
            plain.writer.write(bytes([byte]))
            await plain.writer.drain()
            await asyncio.sleep(0)
        plain.send("NICK spark-ori", "USER o 0 * :o")
        assert (await plain.until(" 001 ")).endswith("spark-ori!o@192.0.2.1")
        await plain.close()


@pytest.mark.parametrize(
    ("header", "words"),
    [(b"", "the PROXY header is missing"), (b"PROXY UNKNOWN\r\n", "the header does not name the client")],
)
async def test_a_proxy_that_does_not_say_who_it_is_for_is_dropped(
    header: bytes, words: str, caplog: pytest.LogCaptureFixture
):
    async with serving("127.0.0.1") as (driver, port):
        plain = await connect(port, header + b"NICK spark-ori\r\nUSER o 0 * :o\r\n")
        with contextlib.suppress(ConnectionError):
            assert await plain.read() == ""
        assert not driver.ircd.sessions
        await plain.close()
    assert words in caplog.text


async def test_from_elsewhere_a_header_is_just_bad_irc():
    async with serving("192.0.2.0/24") as (_, port):
        plain = await connect(port, V1)
        assert " 451 " in await plain.read()
        plain.send("NICK spark-ori", "USER o 0 * :o")
        assert (await plain.until(" 001 ")).endswith("spark-ori!o@spark")
        await plain.close()


async def test_limits_count_the_clients_and_not_the_proxy(eventually):
    async with serving("127.0.0.1", clients_per_address=1) as (driver, port):
        first = await connect(port, V1 + b"PING x\r\n")
        await first.read()
        second = await connect(port, V1 + b"PING x\r\n")
        refused = "ERROR :Closing Link: 192.0.2.1 (Too many connections from your address)"
        assert await second.read() == refused
        other = await connect(port, v2("2001:db8::1") + b"PING x\r\n")
        assert "ERROR" not in await other.read()
        for each in (first, second, other):
            await each.close()
        await eventually(lambda: driver.admission.connections == 0)
        assert driver.admission.addresses == 0
