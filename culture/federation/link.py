"""A link as the mesh knows it, and the box for all that is to be carried out."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple

from culture.federation.holding import Scope
from culture.federation.ports import Note, NoteKind, Peer, ReadRequest

Key = Hashable
"""By what the caller knows a connection."""


class Stage(Enum):
    CALLING = auto()
    """We connected, introduced ourselves, and wait for the other to do so."""
    CALLED = auto()
    """It came to us and proved who it is; we introduced ourselves, and wait for its LINK."""
    UP = auto()
    CLOSED = auto()


@dataclass(slots=True, eq=False)
class Link:
    key: Key
    peer: Peer
    stage: Stage
    since: float
    heard_at: float
    congested_bytes: int
    secret: str = ""
    """What a host that we called said, until it said who it is."""
    is_introduced: bool = False
    scope: Scope = None
    pinged_at: float = 0.0
    ping_sent_at: float | None = None
    """The ping that is not answered yet."""
    lag_s: float | None = None
    unsent_bytes: int = 0
    sought: set[str] = field(default_factory=set)
    """The origins whose past this peer was asked for."""
    snapshot: tuple[str, str, list[str]] | None = None
    """The one that is coming in: its origin, its levels, and its lines so far."""

    @property
    def name(self) -> str:
        return self.peer.name

    @property
    def is_up(self) -> bool:
        return self.stage is Stage.UP

    @property
    def is_congested(self) -> bool:
        return self.unsent_bytes > self.congested_bytes


class Read(NamedTuple):
    """To be read from history, and given back with what was found."""

    request: ReadRequest
    asker: object


@dataclass(slots=True)
class Outbox:
    """Drained by the caller after every turn."""

    lines: dict[Key, list[str]] = field(default_factory=dict)
    closings: list[tuple[Key, str]] = field(default_factory=list)
    """The connections to close once their lines are sent, and why."""
    reads: list[Read] = field(default_factory=list)
    dials: list[str] = field(default_factory=list)
    """The hosts to connect to."""
    notes: list[Note] = field(default_factory=list)

    def send(self, link: Link, line: str) -> None:
        self.lines.setdefault(link.key, []).append(line)
        link.unsent_bytes += len(line)

    def take(self) -> "Outbox":
        """All that is in it, which is then empty."""
        taken = Outbox(self.lines, self.closings, self.reads, self.dials, self.notes)
        self.lines, self.closings, self.reads, self.dials, self.notes = {}, [], [], [], []
        return taken

    def note(self, kind: NoteKind, peer: str, text: str) -> None:
        self.notes.append(Note(kind, peer, text))
