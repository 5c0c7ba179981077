"""What the server needs of the links to other hosts. Who provides it is decided elsewhere."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from culture.protocol.happening import Happening
from culture.protocol.line import Line

if TYPE_CHECKING:
    from culture.ircd.session import Session


class Linked(NamedTuple):
    """A host that can be reached, as LINKS and MAP tell of it."""

    name: str
    via: str
    """The host before it on the way there; this one, if they are linked."""
    hops: int
    description: str


class Links(Protocol):
    def introduced(self, session: "Session", line: Line) -> None:
        """SERVER, from a connection that says it is a host. `session.password` is what came before it."""
        ...

    def received(self, session: "Session", raw: bytes) -> None:
        """A line of a link: a session in the phase LINKED."""
        ...

    def ended(self, session: "Session", reason: str) -> None:
        """A link is closed, by whomever. There is nobody to be told on it any more."""
        ...

    def committed(self, happened: Sequence[Happening]) -> None:
        """At the end of every turn: what happened in it, here and on other hosts, without what is local.

        What is to be written to links because of it is written in the same turn.
        """
        ...

    def failed(self) -> None:
        """Instead of `committed`: what happened in the turn could not be written down."""
        ...

    def hosts(self) -> Sequence[Linked]:
        """All others that can be reached, each behind the one that it is reached through."""
        ...

    def takes_direct(self, name: str) -> bool:
        """Whether direct messages get to a host: not where all ways there are limited to some channels."""
        ...

    def connect(self, name: str) -> str:
        """Connect now. What stands in the way, or nothing."""
        ...

    def disconnect(self, name: str, reason: str) -> str:
        """Close the link to a host. What stands in the way, or nothing."""
        ...
