"""One nick that stays on the network: connects, joins, comes back after every loss."""

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import Final

from culture.client.backoff import waits_s
from culture.client.connection import PATIENCE, Connection, Patience, open_connection
from culture.client.deliveries import Deliveries
from culture.client.events import Event
from culture.client.registration import Identity
from culture.client.session import Kind, Session
from culture.config.address import Address
from culture.errors import CultureError, NotAllowedError, TemporaryError, UnavailableError

DELIVERY_TIMEOUT_S: Final = 10.0


class Client:
    """Keeps one identity connected while `run` runs. `on_event` sees everything, in order.

    `on_down` is told why there is no connection and when the next try is.
    """

    def __init__(
        self,
        address: Address,
        identity: Identity,
        channels: Sequence[str],
        on_event: Callable[[Event], None],
        on_down: Callable[[CultureError, float], None],
        patience: Patience = PATIENCE,
    ) -> None:
        self.address = address
        self._identity = identity
        self._channels = channels
        self._on_event = on_event
        self._on_down = on_down
        self._patience = patience
        self._connection: Connection | None = None
        self._deliveries = Deliveries()
        self._has_quit = False

    @property
    def nick(self) -> str:
        return self._connection.session.nick if self._connection else self._identity.nick

    @property
    def is_registered(self) -> bool:
        return self._connection is not None and self._connection.session.is_registered

    @property
    def is_healthy(self) -> bool:
        """False only if a connection is held to be good that has long been silent: then we are stuck."""
        return self._connection is None or self._connection.silent_s < self._patience.longest_silence_s

    def channels(self) -> list[str]:
        return self._connection.session.roster.names() if self._connection else []

    def members(self, channel: str) -> list[str]:
        return self._connection.session.roster.members(channel) if self._connection else []

    async def run(self) -> None:
        """Returns after `quit`. Raises what trying again cannot mend: a nick or a password refused."""
        waits = waits_s(random.random)
        while not self._has_quit:
            try:
                why, was_registered = await self._connect_once()
            except UnavailableError as error:
                why, was_registered = error, False
            if isinstance(why, NotAllowedError):
                raise why
            if was_registered:
                waits = waits_s(random.random)
            if not self._has_quit:
                wait_s = next(waits)
                self._on_down(why, wait_s)
                await asyncio.sleep(wait_s)

    async def _connect_once(self) -> tuple[CultureError, bool]:
        session = Session(self._identity, self._channels)
        self._connection = await open_connection(self.address, session, self._received, self._patience)
        try:
            return await self._connection.run(), session.is_registered
        finally:
            self._connection = None
            self._deliveries.connection_lost()

    def _received(self, event: Event) -> None:
        self._deliveries.received(event)
        self._on_event(event)

    def say(self, target: str, text: str, kind: Kind = Kind.MESSAGE) -> list[str]:
        """Say it without waiting for what the server thinks of it. Gives back the lines it became."""
        connection = self._registered()
        said = connection.session.say(target, text, kind)
        connection.flush()
        return said

    async def send_message(self, target: str, text: str) -> list[str]:
        """Say it, and return when the server has dealt with it. Raises what the server objects."""
        connection = self._registered()
        said = connection.session.say(target, text)
        token, dealt_with = self._deliveries.begin(target)
        connection.session.ping(token)
        connection.flush()
        try:
            async with asyncio.timeout(DELIVERY_TIMEOUT_S):
                await dealt_with
        except TimeoutError:
            raise TemporaryError(f"no answer from {self.address} within {DELIVERY_TIMEOUT_S:.0f} s") from None
        finally:
            self._deliveries.end(token)
        return said

    def quit(self, reason: str) -> None:
        self._has_quit = True
        if self._connection is not None:
            self._connection.session.quit(reason)
            self._connection.flush()
            self._connection.close(TemporaryError("we quit"))

    def _registered(self) -> Connection:
        if self._connection is None or not self._connection.session.is_registered:
            raise TemporaryError(f"not connected to {self.address}", hint="try again in a few seconds")
        return self._connection
