"""IRC in WebSocket, with a client library that is not the server's own (IRCv3 websocket)."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from support.certificates import make_pair
from support.irc import DEADLINE_S, connected
from support.network import Network

from culture.config.address import CARRIERS, PLAIN
from culture.config.ircd import Limits, Tls
from culture.net.driver import Driver
from culture.net.listen import websocket
from culture.net.listen.listeners import address_of, listening
from culture.net.listen.tls import Certificate

TEXT, BINARY = "text.ircv3.net", "binary.ircv3.net"


class Browser:
    """A WebSocket client that types and reads lines."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket

    async def send(self, *lines: str) -> None:
        for line in lines:
            if self.socket.protocol == BINARY:
                await self.socket.send_bytes(line.encode())
            else:
                await self.socket.send_str(line)

    async def read(self) -> str:
        message = await self.socket.receive(DEADLINE_S)
        if message.type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED):
            return ""
        wanted = aiohttp.WSMsgType.BINARY if self.socket.protocol == BINARY else aiohttp.WSMsgType.TEXT
        assert message.type is wanted
        line = message.data.decode() if isinstance(message.data, bytes) else message.data
        assert "\r" not in line
        assert "\n" not in line
        return line

    async def until(self, part: str) -> str:
        while part not in (line := await self.read()):
            assert line, f"the connection ended before '{part}'"
        return line


class Server:
    def __init__(self, driver: Driver, port: int, plain_port: int) -> None:
        self.driver, self.port, self.plain_port = driver, port, plain_port

    @contextlib.asynccontextmanager
    async def browser(self, *protocols: str, **options: object) -> AsyncIterator[Browser]:
        url = f"ws://127.0.0.1:{self.port}/"
        async with aiohttp.ClientSession() as web, web.ws_connect(url, protocols=protocols, **options) as ws:
            yield Browser(ws)


@contextlib.asynccontextmanager
async def serving(*origins: str, proxies: tuple[str, ...] = (), **limits: int) -> AsyncIterator[Server]:
    with listening(("127.0.0.1:0", "127.0.0.1:0"), []) as listeners:
        network = Network(limits=Limits(**limits), websocket_origins=origins, proxies=proxies)
        driver = Driver(network.ircd)
        driver.serve(listeners[:1], CARRIERS["ws"])
        driver.serve(listeners[1:], PLAIN)
        yield Server(driver, *(address_of(each).port for each in listeners))
        await driver.stop()


@pytest.mark.parametrize(
    ("wanted", "agreed"),
    [
        ((TEXT,), TEXT),
        ((BINARY,), BINARY),
        ((BINARY, TEXT), BINARY),
        (("chat", TEXT, BINARY), TEXT),
        ((), None),
    ],
)
async def test_a_client_talks_in_the_form_it_prefers(wanted: tuple[str, ...], agreed: str | None):
    async with serving() as server, connected(server.plain_port, "spark-bo", "#a") as bo:
        async with server.browser(*wanted) as web:
            assert web.socket.protocol == agreed
            await web.send("NICK spark-ori", "USER o 0 * :o", "JOIN #a", "PRIVMSG #a :hello ☃")
            await web.until(" 366 ")
            assert await bo.until("PRIVMSG") == ":spark-ori!o@spark PRIVMSG #a :hello ☃"
            bo.send("PRIVMSG #a :☃ yourself")
            assert await web.until("PRIVMSG") == ":spark-bo!bo@spark PRIVMSG #a :☃ yourself"
        assert await bo.until("QUIT") == ":spark-ori!o@spark QUIT :Connection closed"


async def test_a_quit_is_answered_by_a_last_line_and_a_closing_frame():
    async with serving() as server, server.browser(TEXT) as web:
        await web.send("QUIT :bye")
        assert await web.read() == "ERROR :Closing Link: spark (Quit: bye)"
        assert await web.read() == ""
        assert web.socket.close_code == 1000


def frame(opcode: int, payload: bytes) -> bytes:
    """A whole one of a client, whose mask changes nothing (RFC 6455 section 5.2)."""
    return bytes([0x80 | opcode, 0x80 | len(payload)]) + bytes(4) + payload


def text(line: str) -> bytes:
    return frame(0x1, line.encode())


CLOSE = frame(0x8, b"\x03\xe8")
PING, PONG = frame(0x9, b""), frame(0xA, b"")
MALFORMED = frame(0x3, b"")


@pytest.mark.parametrize(
    ("end", "code"),
    [(CLOSE, 1000), (CLOSE + PING + text("PRIVMSG #a :no more"), 1000), (MALFORMED, 1002)],
    ids=["closed", "closed before more", "malformed"],
)
@pytest.mark.parametrize("quits", [True, False], ids=["quits", "leaves"])
@pytest.mark.parametrize("burst", [100, 5])
async def test_what_was_said_before_the_end_is_heard(
    end: bytes, code: int, quits: bool, burst: int, caplog: pytest.LogCaptureFixture
):
    """Also what has to wait for its turn. RFC 6455 section 5.5.1: nothing follows a closing frame."""
    limits = {"local_rate_lines_per_s": 500, "local_burst_lines": burst}
    async with (
        serving(**limits) as server,
        connected(server.plain_port, "spark-bo", "#a") as bo,
        server.browser(TEXT) as web,
    ):
        await web.send("NICK spark-ori", "USER o 0 * :o", "JOIN #a")
        await web.until(" 366 ")
        said = [*(f"PRIVMSG #a :{i}" for i in range(20)), *(["QUIT :going home"] if quits else [])]
        # In one read.
        web.socket._writer.transport.write(b"".join(map(text, said)) + end)
        assert await web.read() == ""
        assert web.socket.close_code == code
        for i in range(20):
            assert await bo.until("PRIVMSG") == f":spark-ori!o@spark PRIVMSG #a :{i}"
        why = "Quit: going home" if quits else "Connection closed"
        assert await bo.read() == f":spark-ori!o@spark QUIT :{why}"
    assert "closing" not in caplog.text


async def test_a_line_may_have_its_end_with_it_and_an_empty_one_is_nothing():
    async with serving() as server, server.browser(TEXT) as web:
        await web.send("", "\r\n", "CAP LS 302\r\n")
        assert " LS " in await web.read()


async def test_a_message_is_one_line():
    async with serving() as server, server.browser(TEXT) as web:
        await web.send("NICK spark-ori\nUSER o 0 * :o", "NICK spark-ori\r\nUSER o 0 * :o", "QUIT :z")
        for _ in range(2):
            assert "Your line was dropped" in await web.read()
        assert "(Quit: z)" in await web.read()


async def test_a_message_too_long_is_answered_and_the_next_is_heard():
    async with serving() as server, server.browser(TEXT) as web:
        await web.send("PING " + "x" * 507, "PING " + "x" * 100_000, "@" + "x" * 4095 + " PING y", "QUIT :z")
        for _ in range(3):
            assert " 417 " in await web.read()
        assert "(Quit: z)" in await web.read()


async def close_code_after(port: int, text: bytes) -> int:
    """Send bytes as a text message, and return the code of the close that follows (RFC 6455)."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        b"GET / HTTP/1.1\r\nHost: spark\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
        b"Sec-WebSocket-Protocol: text.ircv3.net\r\n\r\n"
    )
    async with asyncio.timeout(DEADLINE_S):
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101 ")
        # Section 5.2: the last frame of a text message, masked with zeros.
        writer.write(bytes([0x81, 0x80 | len(text)]) + bytes(4) + text)
        first, length = await reader.readexactly(2)
        assert first == 0x88
        reason = await reader.readexactly(length)
    writer.close()
    await writer.wait_closed()
    return int.from_bytes(reason[:2], "big")


async def test_bytes_that_are_not_utf8_are_refused_by_the_protocol_they_came_in():
    async with serving() as server:
        async with server.browser(BINARY) as web:
            await web.socket.send_bytes(b"PING \xff")
            assert "not UTF-8" in await web.read()
        assert await close_code_after(server.port, b"PING \xff") == 1007


async def test_a_ping_of_the_carrier_is_answered():
    async with serving() as server, server.browser(TEXT, autoping=False) as web:
        await web.socket.ping(b"still there?")
        message = await web.socket.receive(DEADLINE_S)
        assert (message.type, message.data) == (aiohttp.WSMsgType.PONG, b"still there?")


async def test_a_page_must_be_named_to_connect():
    page = "https://chat.example.org"
    async with serving(page) as server:
        async with server.browser(TEXT, origin=page):
            pass
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            async with server.browser(TEXT, origin="https://elsewhere.example.org"):
                pass
        assert refused.value.status == 403
    async with serving("*") as server, server.browser(TEXT, origin="https://elsewhere.example.org"):
        pass
    assert not server.driver.ircd.sessions


@pytest.mark.parametrize(
    "request_",
    [
        b"GET / HTTP/1.1\r\nHost: spark\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: \xff\r\nConnection: \xff\r\n\r\n",
        b"NICK spark-ori\r\n\r\n",
        b"x" * 100_000,
    ],
)
async def test_what_is_no_websocket_is_answered_in_http_and_let_go(request_: bytes):
    async with serving() as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(request_)
        with contextlib.suppress(ConnectionError):
            answer = await asyncio.wait_for(reader.read(), DEADLINE_S)
            assert not answer or answer.startswith(b"HTTP/1.1 400 ")
        assert not server.driver.ircd.sessions
        writer.close()


async def test_the_door_and_the_rate_hold_here_too():
    limits = {"local_clients": 1, "local_rate_lines_per_s": 500, "local_burst_lines": 10}
    async with serving(**limits) as server, server.browser(TEXT) as web:
        await web.send("NICK spark-ori", "USER o 0 * :o", *(f"PING {i}" for i in range(100)))
        for i in range(100):
            assert await web.until("PONG") == f":spark PONG spark :{i}"
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            async with server.browser(TEXT):
                pass
        assert refused.value.status == 503


async def test_who_has_not_shaken_hands_counts_too(eventually):
    async with serving(local_clients=3) as server:
        waiting = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(3)]
        await eventually(lambda: server.driver.admission.connections == 3)
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        answer = (await asyncio.wait_for(reader.read(), DEADLINE_S)).decode()
        assert answer.startswith("HTTP/1.1 503 ")
        assert answer.endswith("\r\n\r\nToo many connections from your address\r\n")
        writer.close()
        for _, each in waiting[:2]:
            each.write(b"GET / HTTP/1.1\r\nHost: spark\r\n\r\n")
        waiting[0][1].transport.abort()
        await eventually(lambda: server.driver.admission.connections == 1)
        async with server.browser(TEXT) as web:
            await web.send("NICK spark-ori", "USER o 0 * :o")
            await web.until(" 001 ")
            assert server.driver.admission.connections == 2
            assert server.driver.admission.registering == 1
        for _, each in waiting:
            each.close()
        await eventually(lambda: server.driver.admission.connections == 0)
        assert server.driver.admission.registering == server.driver.admission.addresses == 0


@pytest.mark.parametrize("part", [b"x", b"x" * 1000])
async def test_what_never_ends_a_message_counts_too(part: bytes, eventually):
    limits = {"local_rate_lines_per_s": 100, "local_burst_lines": 20}
    async with serving(**limits) as server, server.browser(TEXT) as web:
        (connection,) = server.driver._connections.values()
        transport = web.socket._writer.transport
        # A text, masked with zeroes, of which not all comes.
        transport.write(b"\x81\xff" + (10**9).to_bytes(8, "big") + b"\0\0\0\0" + b"x" * 5000)
        while connection.transport.is_reading():
            transport.write(part)
            await asyncio.sleep(0)
        assert not connection.transport.is_closing()
        transport.abort()


@pytest.mark.parametrize("idle", [PING, PONG, b"\0\x80\0\0\0\0"])
async def test_a_frame_that_brings_no_line_counts_as_one(idle: bytes):
    limits = {"local_rate_lines_per_s": 100, "local_burst_lines": 20}
    async with serving(**limits) as server, server.browser(TEXT) as web:
        (connection,) = server.driver._connections.values()
        transport = web.socket._writer.transport
        # The first part of a text, into which the others may come; the last one ends with a line.
        transport.write(b"\1\x80\0\0\0\0" + idle * 30 + b"\x80\x80\0\0\0\0" + frame(1, b"PING x"))
        assert await web.until("PONG") == ":spark PONG spark :x"
        assert not connection.transport.is_reading()


async def test_short_frames_of_one_keep_nobody_else_waiting(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(websocket, "TURN_S", 0.0)
    async with serving(local_rate_lines_per_s=0) as server, server.browser(TEXT) as web:
        (connection,) = server.driver._connections.values()
        carrying = connection.transport.get_extra_info("websocket")
        async with connected(server.plain_port, "spark-bo") as bo:
            web.socket._writer.transport.write(PONG * 2500 + frame(1, b"PING last"))
            bo.send("PING x")
            await bo.until("PONG")
            assert carrying._unheard
        assert await web.until("PONG") == ":spark PONG spark :last"


async def test_what_waits_to_be_heard_is_known_to_who_goes_on():
    class Kept:
        def record_partial_read(self, half: bytes | None) -> None:
            self.half = half

    async with serving() as server, server.browser(TEXT) as web:
        (connection,) = server.driver._connections.values()
        carrying = connection.transport.get_extra_info("websocket")
        carrying.recorder = kept = Kept()
        connection.transport.pause_reading()
        carrying.data_received(frame(1, b"PING x") + b"\x81")
        assert kept.half == frame(1, b"PING x") + b"\x81"
        connection.transport.resume_reading()
        assert await web.until("PONG") == ":spark PONG spark :x"
        assert kept.half == b"\x81"
        web.socket._writer.transport.abort()


async def test_a_proxy_may_stand_in_front(eventually):
    async with serving(proxies=("127.0.0.1",)) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"PROXY TCP4 192.0.2.1 192.0.2.9 4711 80\r\n")
        writer.write(b"GET / HTTP/1.1\r\nHost: spark\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n")
        writer.write(b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
        answer = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), DEADLINE_S)
        assert answer.startswith(b"HTTP/1.1 101 ")
        (session,) = server.driver.ircd.sessions
        assert session.peer == "192.0.2.1:4711"
        writer.transport.abort()
        await eventually(lambda: not server.driver.ircd.sessions)


async def test_tls_and_websocket_together(tmp_path: Path):
    pair = make_pair(tmp_path, "localhost")
    context = ssl.create_default_context(cafile=str(pair.certificate))
    certificate = Certificate(Tls(str(pair.certificate), str(pair.key)))
    with listening(("127.0.0.1:0",), []) as listeners:
        driver = Driver(Network().ircd)
        driver.serve(listeners, CARRIERS["wss"], certificate)
        url = f"wss://localhost:{address_of(listeners[0]).port}/"
        async with (
            aiohttp.ClientSession() as web,
            web.ws_connect(url, protocols=(TEXT,), ssl=context) as socket,
        ):
            browser = Browser(socket)
            await browser.send("NICK spark-ori", "USER o 0 * :o")
            await browser.until(" 001 ")
            (session,) = driver.ircd.sessions
            assert session.is_secure
        await driver.stop()
