"""An incoming connection that claims to be a host and has not proved it yet."""

from typing import NamedTuple

from culture.federation.links.challenge import LinkChallenge
from culture.federation.links.link import ConnectionKey
from culture.federation.ports import Caller


class PendingCaller(NamedTuple):
    """An incoming connection that has to answer a challenge."""

    key: ConnectionKey
    challenge: LinkChallenge
    caller: Caller
    since: float

    @property
    def name(self) -> str:
        """Return the name of the host that the connection claims to be."""
        return self.challenge.caller
