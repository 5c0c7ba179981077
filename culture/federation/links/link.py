"""The state of a link, and the outbox of the mesh."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple

from culture.federation.feeds.watermarks import Scope
from culture.federation.links.challenge import LinkChallenge, Role
from culture.federation.ports import MeshNote, MeshNoteKind, Peer, ReadRequest
from culture.protocol.line import MalformedLine
from culture.protocol.peers import validate

# The caller's identifier of a connection.
ConnectionKey = Hashable


class LinkStage(Enum):
    """The stages of a link, in order."""

    # We connected and sent SERVER. The other side has to send its own.
    INTRODUCED = auto()
    # We sent our proof, and the other side has to send its own.
    PROVING = auto()
    # Both sides proved the secret. The other side has to send LINK.
    PROVED = auto()
    UP = auto()
    CLOSED = auto()


@dataclass(slots=True, eq=False)
class IncomingSnapshot:
    """A snapshot that is being received."""

    origin: str
    levels: dict[int, int]
    lines: list[str] = field(default_factory=list)
    size_bytes: int = 0

    def add(self, line: str) -> None:
        """Add a line. Raises MalformedLine if the snapshot gets larger than any host needs."""
        self.size_bytes += len(line)
        self.lines.append(line)
        if len(self.lines) > validate.STATE_LINES or self.size_bytes > validate.STATE_BYTES:
            raise MalformedLine(f"the snapshot of '{self.origin}' is too large")
        if len(line) > validate.STATE_LINE_LENGTH:
            raise MalformedLine(f"a snapshot line has more than {validate.STATE_LINE_LENGTH} characters")


@dataclass(slots=True, eq=False)
class Link:
    """A connection to a peer, from the handshake until it is closed."""

    key: ConnectionKey
    peer: Peer
    # Whether we dialed or were dialed.
    role: Role
    stage: LinkStage
    since: float
    heard_at: float
    congested_bytes: int
    # The nonce that we sent.
    nonce: str = ""
    challenge: LinkChallenge | None = None
    # The PASS of a host that we dialed, until its SERVER.
    secret: str = ""
    scope: Scope = None
    pinged_at: float = 0.0
    # When the unanswered PING was sent.
    ping_sent_at: float | None = None
    lag_s: float | None = None
    unsent_bytes: int = 0
    # The hosts whose records the peer got when the link came up, and whether it has answered a PING since.
    told_hosts: set[str] = field(default_factory=set)
    has_answered: bool = False
    # The origins whose past events were requested from this peer.
    past_requested: set[str] = field(default_factory=set)
    # The snapshot that is being received.
    snapshot: "IncomingSnapshot | None" = None

    @property
    def name(self) -> str:
        """Return the name of the peer."""
        return self.peer.name

    @property
    def is_up(self) -> bool:
        """Return whether the handshake is complete and the link is open."""
        return self.stage is LinkStage.UP

    @property
    def is_congested(self) -> bool:
        """Return whether too many bytes wait to be sent."""
        return self.unsent_bytes > self.congested_bytes


class PendingRead(NamedTuple):
    """A read of history that the caller carries out and passes back with its result."""

    request: ReadRequest
    asker: object


@dataclass(slots=True)
class Outbox:
    """Everything that the caller has to carry out; it is drained after every tick."""

    lines: dict[ConnectionKey, list[str]] = field(default_factory=dict)
    # The connections to close once their lines are sent, with the reason.
    closings: list[tuple[ConnectionKey, str]] = field(default_factory=list)
    reads: list[PendingRead] = field(default_factory=list)
    # The hosts to connect to.
    dials: list[str] = field(default_factory=list)
    notes: list[MeshNote] = field(default_factory=list)

    def send(self, link: Link, line: str) -> None:
        """Queue a line for a link."""
        self.lines.setdefault(link.key, []).append(line)
        link.unsent_bytes += len(line)

    def take(self) -> "Outbox":
        """Return the content and leave the outbox empty."""
        taken = Outbox(self.lines, self.closings, self.reads, self.dials, self.notes)
        self.lines, self.closings, self.reads, self.dials, self.notes = {}, [], [], [], []
        return taken

    def note(self, kind: MeshNoteKind, peer: str, text: str) -> None:
        """Queue a note for the journal."""
        self.notes.append(MeshNote(kind, peer, text))
