"""What we get of an origin from a peer: in which scope, and whether we are up to date."""

from dataclasses import dataclass

from culture.federation.holding import Scope
from culture.federation.link import Link


@dataclass(slots=True, eq=False)
class Feed:
    origin: str
    link: Link | None
    """None: the origin is this host."""
    token: str = ""
    """By which the peer's answers are known from those to an earlier question."""
    is_answered: bool = False
    scope: Scope = frozenset()
    is_live: bool = False
    """The snapshot came, and events come as they happen."""
    gained: int = 0
    """How many events it brought."""
