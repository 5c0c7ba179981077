"""A real culture-ircd in a process of its own, and the least that an IRC client can be."""

import asyncio
import contextlib
import re
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

DEADLINE_S = 10.0

OnLine = Callable[[bytes, float], None]


@contextlib.asynccontextmanager
async def ircd(home: Path) -> AsyncIterator[int]:
    """Its port, which is a free one."""
    config = home / "ircd.yaml"
    config.write_text("name: spark\nlisten: ['127.0.0.1:0']\n")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "culture.daemons.ircd", "--config", config, stderr=asyncio.subprocess.PIPE
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(DEADLINE_S):
            line = (await process.stderr.readline()).decode()
        found = re.search(r"listening on 127\.0\.0\.1:(\d+)", line)
        if found is None:
            sys.exit(f"culture-ircd did not start: {line}")
        yield int(found[1])
    finally:
        process.terminate()
        await process.communicate()


class Plain(asyncio.Protocol):
    """Hands over each line with the moment it came."""

    def __init__(self, on_line: OnLine) -> None:
        self._on_line = on_line
        self._rest = b""
        self._joined = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        now = time.perf_counter()
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if line.startswith(b"PING"):
                self.send(line.replace(b"PING", b"PONG", 1))
            elif b" 366 " in line:
                self._joined.set()
            self._on_line(line, now)

    def send(self, line: bytes) -> None:
        self._transport.write(line.strip() + b"\r\n")

    async def register(self, nick: str, channel: str) -> None:
        for line in (f"NICK {nick}", f"USER {nick} 0 * :{nick}", f"JOIN {channel}"):
            self.send(line.encode())
        async with asyncio.timeout(DEADLINE_S):
            await self._joined.wait()


async def plain_client(port: int, nick: str, channel: str, on_line: OnLine = lambda line, at: None) -> Plain:
    loop = asyncio.get_running_loop()
    _, client = await loop.create_connection(lambda: Plain(on_line), "127.0.0.1", port)
    await client.register(nick, channel)
    return client
