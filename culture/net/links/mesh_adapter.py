"""Connect the federation mesh to the IRC core of this host; a MeshIo performs the I/O."""

from collections.abc import Callable, Sequence
from typing import Protocol

from culture.federation.links.link import Outbox, PendingRead
from culture.federation.mesh import LinkStatus, Mesh
from culture.federation.ports import Caller, MeshNote
from culture.ircd.replication.links import ReachableHost
from culture.ircd.server import Ircd
from culture.ircd.session import LINKED, PROVING, Session
from culture.protocol.event_record import EventRecord
from culture.protocol.line import Line


class MeshIo(Protocol):
    """Performs the I/O of the mesh: sockets, threads and the journal."""

    def dial(self, name: str) -> None:
        """Connect to a peer; then `dialed` or `dial_failed`."""
        ...

    def read(self, read: PendingRead) -> None:
        """Read history in a thread, then call `found` or `unread`."""
        ...

    def caller(self, session: Session) -> Caller:
        """Return where a connection comes from."""
        ...

    def unsent(self, session: Session) -> int:
        """Return how many bytes wait to be sent. A flush must follow when there are none left."""
        ...

    def note(self, note: MeshNote) -> None:
        """Log a note for operators."""
        ...

    def failed(self, error: Exception) -> None:
        """Log a bug that a peer's input triggered."""
        ...


class MeshLinks:
    """Implements `culture.ircd.replication.links.MeshLinksPort` with a `Mesh`."""

    def __init__(self, ircd: Ircd, mesh: Mesh, io: MeshIo) -> None:
        self._ircd = ircd
        self._mesh = mesh
        self._io = io

    # Calls from the IRC core.

    def introduced(self, session: Session, line: Line) -> None:
        self._mesh.offered(session, session.password, line, self._io.caller(session))
        self._note_proof(session)

    def received(self, session: Session, raw: bytes) -> None:
        try:
            self._mesh.received(session, raw)
        except Exception as error:
            # A bug that a peer's input triggers costs its link, and nothing else.
            self._io.failed(error)
            self._mesh.broke(session, "internal error")
        if session.phase is PROVING:
            self._note_proof(session)

    def _note_proof(self, session: Session) -> None:
        """Lift the limits of an unregistered client once the peer has proved its identity."""
        if self._mesh.links.find(session) is not None:
            session.phase = LINKED

    def ended(self, session: Session, reason: str) -> None:
        self._mesh.closed(session, reason)

    def proved(self, happened: Sequence[EventRecord]) -> Sequence[EventRecord]:
        return self._mesh.proved(happened)

    def committed(self, happened: Sequence[EventRecord]) -> None:
        self._attempt(lambda: self._mesh.committed(happened))
        self._attempt(self._perform_output)

    def failed(self) -> None:
        self._attempt(self._mesh.commit_failed)
        self._attempt(self._perform_output)

    def hosts(self) -> list[ReachableHost]:
        hosts = self._mesh.hosts
        found = sorted(hosts.routes.items(), key=lambda item: item[1].path)
        return [
            ReachableHost(name, (self._mesh.name, *path)[-2], len(path), hosts.records[name].description)
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

    # Calls from the runtime.

    def dialed(self, session: Session, name: str) -> None:
        """Start the handshake on a new connection to a peer."""
        session.phase = LINKED
        self._mesh.dialed(session, name)

    def dial_failed(self, name: str) -> None:
        self._mesh.dial_failed(name)

    def found(self, read: PendingRead, records: Sequence[EventRecord]) -> None:
        self._mesh.found(read, records)

    def unread(self, read: PendingRead) -> None:
        self._mesh.unread(read)

    def tick(self) -> None:
        self._attempt(self._mesh.tick)

    def status(self) -> list[LinkStatus]:
        return self._mesh.status()

    def _attempt(self, act: Callable[[], None]) -> None:
        """Call `act`; if it raises, drop all links, which then reconnect. No client is affected."""
        try:
            act()
        except Exception as error:
            self._io.failed(error)
            for link in [*self._mesh.links.up.values()]:
                self._mesh.broke(link.key, "internal error")

    def _perform_output(self) -> None:
        for link in self._mesh.links.up.values():
            assert isinstance(link.key, Session)
            self._mesh.unsent(link.key, self._io.unsent(link.key))
        outbox = self._mesh.flush()
        self._queue(outbox)
        for note in outbox.notes:
            self._io.note(note)
        for read in outbox.reads:
            self._io.read(read)
        for name in outbox.dials:
            self._io.dial(name)

    def _queue(self, outbox: Outbox) -> None:
        for session, lines in outbox.lines.items():
            assert isinstance(session, Session)
            self._ircd.delivery.queue(session, "".join(f"{line}\r\n" for line in lines).encode())
        for session, why in outbox.closings:
            assert isinstance(session, Session)
            self._close(session, why)

    def _close(self, session: Session, why: str) -> None:
        """Close a link after its queued output was sent."""
        # The driver only visits sessions with output, so queue an empty one.
        self._ircd.delivery.queue(session, b"")
        session.end(why)
        self._ircd.sessions.discard(session)
        self._ircd.state.dirty.touch(session)
