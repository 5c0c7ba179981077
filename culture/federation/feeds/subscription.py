"""The state of one subscription of this host to an origin at a peer."""

from dataclasses import dataclass

from culture.federation.feeds.watermarks import Scope
from culture.federation.links.link import Link


@dataclass(slots=True, eq=False)
class Subscription:
    """What this host gets of an origin from a peer, and how far that has come."""

    origin: str
    # None: the origin is this host.
    link: Link | None
    # Identifies the replies to this request. Empty: this host has to subscribe again.
    token: str = ""
    is_answered: bool = False
    scope: Scope = frozenset()
    # The snapshot has arrived, and events follow as they happen.
    is_live: bool = False
    # How many new events arrived.
    gained: int = 0
    # For past events: only generations before this one were requested.
    past_before: int | None = None
    # The earliest generation whose events were skipped, because its host has not announced it yet.
    unannounced: int | None = None

    def stop(self) -> None:
        """Accept nothing more until this host subscribes again."""
        self.token, self.is_answered, self.is_live = "", False, False
