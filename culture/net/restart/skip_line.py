"""Discard the rest of a line whose beginning was lost in a crash, so that it is not taken for a command."""

import asyncio

from culture.net.connection import Connection


class SkipLine(asyncio.Protocol):
    """Drops input up to the next line end, then hands over to the connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def begin(self) -> None:
        """Replace the connection as the transport's protocol."""
        self._connection.transport.set_protocol(self)

    def data_received(self, data: bytes) -> None:
        _, end, rest = data.partition(b"\n")
        if end:
            self._connection.transport.set_protocol(self._connection)
            if rest:
                self._connection.data_received(rest)

    def pause_writing(self) -> None:
        self._connection.pause_writing()

    def resume_writing(self) -> None:
        self._connection.resume_writing()

    def connection_lost(self, error: Exception | None) -> None:
        self._connection.connection_lost(error)
