"""A person on a host: an IRC client at a socket."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

from support.irc import Plain


@contextlib.asynccontextmanager
async def person(connection: socket.socket, nick: str, *channels: str) -> AsyncIterator[Plain]:
    """Registered over this connection, and in these channels."""
    plain = Plain(*await asyncio.open_connection(sock=connection))
    try:
        plain.send(f"NICK {nick}", f"USER {nick} 0 * :{nick}")
        await plain.until(" 001 ")
        for channel in channels:
            plain.send(f"JOIN {channel}")
            await plain.until(f" 366 {nick} {channel} ")
        yield plain
    finally:
        await plain.close()
