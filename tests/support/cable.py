"""A cable between a client and a server, to be cut: nothing passes that is not let through."""

import asyncio
import contextlib
from collections.abc import AsyncIterator


class Cable:
    def __init__(self, port: int) -> None:
        self._to_port = port
        self._ends: list[asyncio.StreamWriter] = []
        self._server: asyncio.Server
        # Whether what is sent arrives, and whether what is answered does.
        self.carries_up = True
        self.carries_down = True
        # From these words on it does not.
        self.stops_up_at = b""
        self.stops_down_at = b""
        # What arrives in place of other words.
        self.garbles_up = b"", b""
        # What was not let through, of both.
        self.swallowed = b""

    @property
    def carries(self) -> bool:
        return self.carries_up and self.carries_down

    @property
    def port(self) -> int:
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._plugged_in, "127.0.0.1", 0)

    def cut(self) -> None:
        """Whoever plugs in next is connected again."""
        for end in self._ends:
            end.transport.abort()
        self._ends.clear()
        self.carries_up = self.carries_down = True
        self.stops_up_at = self.stops_down_at = b""

    async def close(self) -> None:
        self._server.close()
        self.cut()
        await self._server.wait_closed()

    async def _plugged_in(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self._to_port)
        except ConnectionError:
            # As a server does that is not there.
            writer.transport.abort()
            return
        self._ends += [writer, up_writer]
        try:
            await asyncio.gather(self._up(reader, up_writer), self._down(up_reader, writer))
        except ConnectionError:
            return
        finally:
            writer.close()
            up_writer.close()

    async def _up(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            if self.stops_up_at and self.stops_up_at in data:
                self.carries_up = False
            if self.carries_up:
                writer.write(data.replace(*self.garbles_up) if any(self.garbles_up) else data)
            else:
                self.swallowed += data
        writer.close()

    async def _down(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            if self.stops_down_at and self.stops_down_at in data:
                self.carries_down = False
            if self.carries_down:
                writer.write(data)
            else:
                self.swallowed += data
        writer.close()


@contextlib.asynccontextmanager
async def cable(port: int) -> AsyncIterator[Cable]:
    """Between whoever connects to its own port, and this one."""
    made = Cable(port)
    await made.open()
    try:
        yield made
    finally:
        await made.close()
