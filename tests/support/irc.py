"""A plain IRC connection for tests: real sockets, lines in and out, every wait with a deadline."""

import asyncio
import base64
import contextlib
import socket
from collections.abc import AsyncIterator

DEADLINE_S = 30.0


class Plain:
    """Types lines and reads lines. Answers nothing by itself but PING."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.seen: list[str] = []

    def send(self, *lines: str) -> None:
        self.writer.write("".join(f"{line}\r\n" for line in lines).encode())

    async def read(self) -> str:
        """The next line, or an empty one at the end of the connection."""
        async with asyncio.timeout(DEADLINE_S):
            line = (await self.reader.readline()).decode().rstrip("\r\n")
        if line.startswith("PING "):
            self.send(line.replace("PING", "PONG", 1))
        self.seen.append(line)
        return line

    async def until(self, part: str) -> str:
        """Reads up to the first line that holds this."""
        try:
            while part not in (line := await self.read()):
                if not line:
                    raise AssertionError(f"the connection ended before '{part}': {self.seen[-5:]}")
        except TimeoutError as error:
            raise TimeoutError(f"no '{part}' came after: {self.seen[-12:]}") from error
        return line

    async def close(self) -> None:
        self.writer.close()
        with contextlib.suppress(ConnectionError):
            await self.writer.wait_closed()


async def all_are_in(client: Plain, *nicks: str, channel: str = "#general") -> None:
    """Wait until the client's server knows that all these are in a channel."""
    while True:
        client.send(f"NAMES {channel}")
        members = await client.until(" 353 ")
        if all(nick in members for nick in nicks):
            return


async def log_in(client: Plain, account: str, password: str) -> None:
    """Log in to an account by SASL, before or after registration."""
    secret = base64.b64encode(f"\0{account}\0{password}".encode()).decode()
    client.send("CAP REQ :sasl", "AUTHENTICATE PLAIN", f"AUTHENTICATE {secret}")
    await client.until(" 903 ")


@contextlib.asynccontextmanager
async def connected(
    where: int | socket.socket,
    nick: str,
    *channels: str,
    caps: str = "",
    account: str = "",
    password: str = "",
) -> AsyncIterator[Plain]:
    """A registered client that is in its channels, over a port of this machine or an open connection.

    With an account it logs in first, as it has to if its nick belongs to that account.
    """
    place = {"sock": where} if isinstance(where, socket.socket) else {"host": "127.0.0.1", "port": where}
    plain = Plain(*await asyncio.open_connection(**place))
    try:
        if caps:
            plain.send(f"CAP REQ :{caps}")
        if account:
            await log_in(plain, account, password)
        plain.send(f"NICK {nick}", f"USER {nick.rpartition('-')[2]} 0 * :{nick}")
        if caps or account:
            plain.send("CAP END")
        await plain.until(" 001 ")
        for channel in channels:
            plain.send(f"JOIN {channel}")
            await plain.until(f" 366 {nick} {channel} ")
        yield plain
    finally:
        await plain.close()
