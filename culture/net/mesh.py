"""The mesh and the IRC server of one host, put together. What is to be carried out goes to a carrier."""

from collections.abc import Sequence
from typing import Protocol

from culture.federation.link import Outbox, Read
from culture.federation.mesh import LinkStatus, Mesh
from culture.federation.ports import Caller, Note
from culture.ircd.core import Ircd
from culture.ircd.links import Linked
from culture.ircd.session import Phase, Session
from culture.protocol.happening import Happening
from culture.protocol.line import Line


class Carrier(Protocol):
    """Who has the sockets, the threads and the journal."""

    def dial(self, name: str) -> None:
        """Connect to a peer; then `dialed` or `undialed`."""
        ...

    def read(self, read: Read) -> None:
        """Ask history, in a thread; then `found` or `unread`."""
        ...

    def caller(self, session: Session) -> Caller: ...

    def unsent(self, session: Session) -> int:
        """How many bytes wait for the other side. When there are none any more, there has to be a turn."""
        ...

    def note(self, note: Note) -> None: ...


class MeshLinks:
    """`culture.ircd.links.Links`, by a `Mesh`."""

    def __init__(self, ircd: Ircd, mesh: Mesh, carrier: Carrier) -> None:
        self._ircd = ircd
        self._mesh = mesh
        self._carrier = carrier

    # From the server.

    def introduced(self, session: Session, line: Line) -> None:
        self._mesh.offered(session, session.password, line, self._carrier.caller(session))

    def received(self, session: Session, raw: bytes) -> None:
        self._mesh.received(session, raw)

    def ended(self, session: Session, reason: str) -> None:
        self._mesh.closed(session, reason)

    def committed(self, happened: Sequence[Happening]) -> None:
        self._mesh.happened(happened)
        self._carry_out()

    def failed(self) -> None:
        self._mesh.not_recorded()
        self._carry_out()

    def hosts(self) -> list[Linked]:
        hosts = self._mesh.hosts
        found = sorted(hosts.routes.items(), key=lambda item: item[1].path)
        return [
            Linked(name, (self._mesh.name, *path)[-2], len(path), hosts.records[name].description)
            for name, (path, _) in found
        ]

    def takes_direct(self, name: str) -> bool:
        return self._mesh.takes_direct(name)

    def connect(self, name: str) -> str:
        if (peer := self._mesh.links.peers.get(name)) is None:
            return f"{name} is not among our links"
        if name in self._mesh.links.up:
            return f"{name} is linked already"
        if not peer.has_address:
            return f"{name} has no address here; it has to connect to us"
        self._mesh.connect(name)
        return ""

    def disconnect(self, name: str, reason: str) -> str:
        return "" if self._mesh.disconnect(name, reason) else f"{name} is not linked to us"

    # From the driver.

    def dialed(self, session: Session, name: str) -> None:
        """A connection that the carrier was asked for is there, and nothing was said on it."""
        session.phase = Phase.LINKED
        self._mesh.dialed(session, name)

    def undialed(self, name: str) -> None:
        self._mesh.undialed(name)

    def found(self, read: Read, happenings: Sequence[Happening]) -> None:
        self._mesh.found(read, happenings)

    def unread(self, read: Read) -> None:
        self._mesh.unread(read)

    def tick(self) -> None:
        self._mesh.tick()

    def status(self) -> list[LinkStatus]:
        return self._mesh.status()

    # What is to be done.

    def _carry_out(self) -> None:
        for link in self._mesh.links.up.values():
            assert isinstance(link.key, Session)
            self._mesh.unsent(link.key, self._carrier.unsent(link.key))
        outbox = self._mesh.flush()
        self._queue(outbox)
        for note in outbox.notes:
            self._carrier.note(note)
        for read in outbox.reads:
            self._carrier.read(read)
        for name in outbox.dials:
            self._carrier.dial(name)

    def _queue(self, outbox: Outbox) -> None:
        for session, lines in outbox.lines.items():
            assert isinstance(session, Session)
            self._ircd.delivery.queue(session, "".join(f"{line}\r\n" for line in lines).encode())
        for session, why in outbox.closings:
            assert isinstance(session, Session)
            self._close(session, why)

    def _close(self, session: Session, why: str) -> None:
        """Whatever was to be said on it is said."""
        # That may be nothing, and the driver looks at those who have output.
        self._ircd.delivery.queue(session, b"")
        session.end(why)
        self._ircd.sessions.discard(session)
        self._ircd.state.changes.touch(session)
