"""Send the agent's messages exactly once, even if the connection is lost while they are sent."""

import asyncio
from functools import partial
from typing import Final

from culture.agent.inbox.inbox import Inbox
from culture.client.client import Client, Sent
from culture.client.composing import rest_of
from culture.client.exchanges import ConnectionLost
from culture.client.session import Kind
from culture.errors import TemporaryError
from culture.protocol.capabilities import Cap

# How long sending waits for a connection. The agent is in the middle of a turn and has no alternative.
RECONNECT_TIMEOUT_S: Final = 60.0


class Sender:
    """Sends text on IRC as the agent."""

    def __init__(self, client: Client, inbox: Inbox) -> None:
        self._client = client
        self._inbox = inbox

    async def say(self, target: str, text: str) -> Sent:
        """Send a PRIVMSG and return when the server has accepted it. Raise CultureError if it refuses."""
        if not self._client.is_registered:
            await self._wait_for_connection(
                TemporaryError(f"not connected to the server for {RECONNECT_TIMEOUT_S:.0f} s")
            )
        sent = await self._client.send_message(target, text, on_lost=partial(self._unsent_lines, target))
        if not self._client.can(Cap.ECHO_MESSAGE):
            self._inbox.said(target, "\n".join(sent.lines))
        return sent

    def note(self, target: str, text: str) -> None:
        """Send a NOTICE without waiting for the server to accept it."""
        self._client.say(target, text, Kind.NOTICE)

    async def _unsent_lines(self, target: str, error: TemporaryError, burst: list[str]) -> list[str]:
        """Wait for the next connection and return the lines that the server's history does not have."""
        await self._wait_for_connection(error)
        if not isinstance(error, ConnectionLost):
            return burst
        if not (self._client.can(Cap.CHATHISTORY) and self._client.can(Cap.ECHO_MESSAGE)):
            raise error
        return rest_of(burst, self._inbox.own_messages_in_history(target))

    async def _wait_for_connection(self, on_timeout: TemporaryError) -> None:
        try:
            async with asyncio.timeout(RECONNECT_TIMEOUT_S):
                await self._inbox.next_catch_up()
        except TimeoutError:
            raise on_timeout from None
