"""A client of ours that remembers what it was told."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator

from culture.client.client import Client
from culture.client.connection import PATIENCE, Patience
from culture.client.events import Said
from culture.client.registration import Identity
from culture.config.address import Address


class Person:
    """A client that remembers what it was told."""

    def __init__(
        self,
        address: Address,
        nick: str,
        *channels: str,
        patience: Patience = PATIENCE,
        tls: ssl.SSLContext | None = None,
        account: str = "",
        account_password: str = "",
    ) -> None:
        self.events: list = []
        self.downs: list = []
        identity = Identity(nick, "test", nick, account=account, account_password=account_password)
        self.client = Client(
            address,
            identity,
            channels,
            self.events.append,
            lambda why, wait: self.downs.append(why),
            patience,
            tls,
        )

    def heard(self, kind: type) -> list:
        return [event for event in self.events if isinstance(event, kind)]

    def said(self) -> list[str]:
        return [event.text for event in self.heard(Said) if not event.is_from_server]

    def has_joined(self, channel: str) -> bool:
        return channel in self.client.channels()


@contextlib.asynccontextmanager
async def online(*people: Person) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(person.client.run()) for person in people]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
