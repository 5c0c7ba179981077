"""The interface that the server needs of the links to other hosts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from culture.protocol.event_record import EventRecord
from culture.protocol.line import Line

if TYPE_CHECKING:
    from culture.ircd.session import Session


class ReachableHost(NamedTuple):
    """A reachable host, as LINKS and MAP list it."""

    name: str
    # The last host before it on the route; this host if they are linked directly.
    via: str
    hops: int
    description: str


class MeshLinksPort(Protocol):
    """What the server calls when something happens on a link or has to go over one."""

    def introduced(self, session: "Session", line: Line) -> None:
        """Handle SERVER from a connection that claims to be a host. `session.password` holds its PASS.

        The session is in phase PROVING, and in LINKED once it has proved its identity.
        """
        ...

    def received(self, session: "Session", raw: bytes) -> None:
        """Handle a line from a session in phase PROVING or LINKED."""
        ...

    def ended(self, session: "Session", reason: str) -> None:
        """Handle the end of a link. Nothing can be sent on it any more."""
        ...

    def proved(self, events: Sequence[EventRecord]) -> Sequence[EventRecord]:
        """Return the events of a tick with the proofs by which this host recognises its own events."""
        ...

    def committed(self, events: Sequence[EventRecord]) -> None:
        """Relay the recorded events of a tick, without those of local channels.

        It is called at the end of every tick and queues what has to go over links in the same tick.
        """
        ...

    def failed(self) -> None:
        """Handle a tick whose events could not be recorded. It is called instead of `committed`."""
        ...

    def hosts(self) -> Sequence[ReachableHost]:
        """Return all other reachable hosts, each after the host that it is reached through."""
        ...

    def takes_direct(self, name: str) -> bool:
        """Return whether direct messages reach a host: some route there is not limited to channels."""
        ...

    def connect(self, name: str) -> str:
        """Connect to a host now. Return why that is impossible, or an empty text."""
        ...

    def disconnect(self, name: str, reason: str) -> str:
        """Close the link to a host. Return why that is impossible, or an empty text."""
        ...
