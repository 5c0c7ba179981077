"""What an agent says: once, also if the connection is lost while it speaks."""

import asyncio
from functools import partial
from typing import Final

from culture.agent.ears import Ears
from culture.client.client import Client, Sent
from culture.client.composing import rest_of
from culture.client.exchanges import ConnectionLost
from culture.errors import TemporaryError
from culture.protocol.capabilities import Cap

PATIENCE_S: Final = 60.0
"""How long an agent waits for a connection to speak. It is in the middle of a turn, and has no better way."""


class Voice:
    def __init__(self, client: Client, ears: Ears) -> None:
        self._client = client
        self._ears = ears

    async def say(self, target: str, text: str) -> Sent:
        """Returns when the server has it. Raises what the server objects."""
        if not self._client.is_registered:
            await self._is_back(TemporaryError(f"there was no connection for {PATIENCE_S:.0f} s"))
        sent = await self._client.send_message(target, text, on_lost=partial(self._left_to_say, target))
        if not self._client.can(Cap.ECHO_MESSAGE):
            self._ears.said(target, "\n".join(sent.lines))
        return sent

    async def _left_to_say(self, target: str, error: TemporaryError, burst: list[str]) -> list[str]:
        """The next connection tells how much of it arrived: by its history, less what echoes told."""
        await self._is_back(error)
        if not isinstance(error, ConnectionLost):
            return burst
        if not (self._client.can(Cap.CHATHISTORY) and self._client.can(Cap.ECHO_MESSAGE)):
            raise error
        return rest_of(burst, self._ears.found_own(target))

    async def _is_back(self, otherwise: TemporaryError) -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._ears.next_catch_up()
        except TimeoutError:
            raise otherwise from None
