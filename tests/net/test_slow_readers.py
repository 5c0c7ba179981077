"""A client that never reads is let go alone, whatever carries its lines."""

import asyncio
import socket
import ssl
from pathlib import Path

import pytest
from support.certificates import make_pair
from support.irc import DEADLINE_S, connected
from support.network import Network

from culture.config.address import CARRIERS, PLAIN
from culture.config.ircd import Limits, Tls
from culture.net.driver import Driver
from culture.net.listen.listeners import address_of, listening
from culture.net.listen.tls import Certificate

HELLO = ("NICK spark-stuck", "USER s 0 * :s", "JOIN #a")
HANDSHAKE = (
    b"GET / HTTP/1.1\r\nHost: spark\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)


def frame(line: str) -> bytes:
    """A short text frame; a mask of zeros changes nothing (RFC 6455 section 5.3)."""
    return bytes([0x81, 0x80 | len(line), 0, 0, 0, 0]) + line.encode()


@pytest.mark.parametrize("kind", ["tls", "ws", "wss"])
async def test_it_is_closed_and_the_others_miss_nothing(kind: str, tmp_path: Path):
    pair, carrier = make_pair(tmp_path, "spark"), CARRIERS[kind]
    certificate = Certificate(Tls(str(pair.certificate), str(pair.key)))
    context = ssl.create_default_context(cafile=str(pair.certificate)) if carrier.is_tls else None
    limits = Limits(sendq_bytes=65536, local_rate_lines_per_s=0)
    with listening(("127.0.0.1:0", "127.0.0.1:0"), []) as listeners:
        driver = Driver(Network(limits=limits).ircd)
        driver.serve(listeners[:1], PLAIN)
        driver.serve(listeners[1:], carrier, certificate)
        plain_port, port = (address_of(each).port for each in listeners)
        async with (
            connected(plain_port, "spark-ori", "#a") as ori,
            connected(plain_port, "spark-bo", "#a") as bo,
        ):
            name = "spark" if context else None
            reader, stuck = await asyncio.open_connection(
                "127.0.0.1", port, ssl=context, server_hostname=name, limit=1
            )
            stuck.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            if carrier.is_websocket:
                stuck.write(HANDSHAKE)
                # A client waits for the answer before it sends more (RFC 6455 section 4.1).
                await asyncio.wait_for(reader.read(4), DEADLINE_S)
                stuck.write(b"".join(map(frame, HELLO)))
            else:
                stuck.write("".join(f"{line}\r\n" for line in HELLO).encode())
            await bo.until("spark-stuck!s@spark JOIN #a")
            stuck.transport.pause_reading()
            heard = said = 0
            gone = ""
            while not gone and said < 200_000:
                ori.send(*(f"PRIVMSG #a :{said + i} {'x' * 300}" for i in range(200)))
                said += 200
                while heard < said:
                    line = await bo.read()
                    if " QUIT " in line:
                        gone = line
                    else:
                        assert line.startswith(f":spark-ori!ori@spark PRIVMSG #a :{heard} ")
                        heard += 1
            assert gone == ":spark-stuck!s@spark QUIT :SendQ exceeded"
            stuck.transport.abort()
        await driver.stop()
