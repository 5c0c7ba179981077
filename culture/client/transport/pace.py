"""Delay commands on servers that disconnect a client for sending too many of them."""

import asyncio
from typing import Final

from culture.client.client import Client
from culture.protocol.capabilities import Cap

# What any server takes at once from a client that was silent, and the PING behind it.
BURST_LINES: Final = 6
LINES_PER_S: Final = 1.0


class Pace:
    """A token bucket of lines, for servers without CHATHISTORY. Those with it slow clients down instead."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._tokens = float(BURST_LINES)
        self._at = asyncio.get_running_loop().time()
        self._turn = asyncio.Lock()

    async def wait(self, lines: int = 1) -> None:
        """Wait until so many lines and a PING may be sent."""
        if self._client.can(Cap.CHATHISTORY):
            return
        wanted = min(lines + 1, BURST_LINES)
        async with self._turn:
            self._fill()
            if self._tokens < wanted:
                await asyncio.sleep((wanted - self._tokens) / LINES_PER_S)
                self._fill()
            self._tokens -= wanted

    def _fill(self) -> None:
        now = asyncio.get_running_loop().time()
        self._tokens = min(BURST_LINES, self._tokens + (now - self._at) * LINES_PER_S)
        self._at = now


def estimate_lines(text: str) -> int:
    """Return about how many lines of IRC a text becomes."""
    return 1 + text.count("\n") + len(text.encode()) // 400
