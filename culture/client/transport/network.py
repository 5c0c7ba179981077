"""How to reach an IRC network."""

import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from culture.client.client import Client
from culture.client.connection import PATIENCE, Patience
from culture.client.events import Event
from culture.client.registration import Identity
from culture.config.address import Address
from culture.errors import CultureError


@dataclass(frozen=True, slots=True)
class Network:
    """The address of a server, and how to connect to it."""

    address: Address
    tls: ssl.SSLContext | None = None
    patience: Patience = PATIENCE

    def make_client(
        self,
        identity: Identity,
        channels: Sequence[str],
        on_event: Callable[[Event], None],
        on_down: Callable[[CultureError, float], None],
    ) -> Client:
        """Return a client of this network, which connects when it is run."""
        return Client(self.address, identity, channels, on_event, on_down, self.patience, self.tls)
