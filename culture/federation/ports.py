"""What the mesh needs of the host it runs on, and the plain values that it is given and hands out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple, Protocol

from culture.names import Folded
from culture.protocol.happening import Happening

Levels = Mapping[int, int]
"""By generation, the highest number."""
DIRECT: Final = ">"
"""In front of a host, the scope of direct messages that go to it."""


class Host(Protocol):
    """The IRC server of this host, as the mesh sees it. Every origin is named; none is this host."""

    def snapshot(self, origin: str, channels: frozenset[Folded] | None) -> Sequence[str]:
        """What is known of an origin's users and of the channels they are in, with stamps.

        Also of this host itself. Of some channels only, or of all that are not local. One line each, without
        line feeds.
        """
        ...

    def take_snapshot(self, origin: str, lines: Sequence[str], channels: frozenset[Folded] | None) -> None:
        """This is what is to be known of the origin: differences are told to clients, and not recorded."""
        ...

    def take(self, happening: Happening, *, is_replayed: bool) -> None:
        """Something new: record it as it is (origin, number and scope too), apply it, deliver it.

        What is replayed need change nothing that a snapshot tells: one follows it.
        """
        ...

    def write_down(self, happening: Happening) -> None:
        """It is over, and only recorded. With an empty origin it happened here, and was lost."""
        ...

    def lost(self, origins: Sequence[str], between: tuple[str, str]) -> None:
        """Their users quit, since the link between these two hosts is gone."""
        ...

    def shown(self) -> Sequence[str]:
        """The other hosts whose users are known now."""
        ...

    def begin_generation(self, generation: int) -> None:
        """The next event gets the first number of this generation: others know of later ones than ours."""
        ...


class ReadRequest(NamedTuple):
    """What is to be read from history: so many events of an origin, in the order of their numbers."""

    origin: str
    """Empty: this host."""
    after: Levels
    """Of each generation only what is behind this number; of one that is not here, everything."""
    channels: frozenset[Folded] | None = None
    """Only of these; None: of all."""
    to: str | None = None
    """Direct messages to this host, and nothing else; None: no direct messages."""
    most: int = 512


class Log(Protocol):
    """History, as the mesh sees it. What never leaves a host (`is_local`) is in neither answer."""

    def holdings(self) -> Mapping[str, Mapping[str, Levels]]:
        """Of each origin (empty: this host), by scope (`Happening.scope`, `DIRECT`). Asked at the start."""
        ...

    def read(self, request: ReadRequest) -> Sequence[Happening]:
        """All that was committed before the call is in it. May take long: it runs in a thread."""
        ...


@dataclass(frozen=True, slots=True)
class Peer:
    """Another host that may be linked to this one, as it is configured."""

    name: str
    secret: str
    channels: frozenset[Folded] | None = None
    """What the link is limited to; None: nothing."""
    has_address: bool = False
    """We can connect to it when somebody asks for that."""
    is_dialed: bool = False
    """We connect to it by ourselves."""
    accept_from: tuple[str, ...] = ()
    """The networks that it may come from, or `unix`. Empty: any."""
    accept_fingerprint: str = ""
    """The certificate that it has to show when it comes."""


class Caller(NamedTuple):
    """Where a connection came from."""

    address: str
    """An IP address, or `unix`."""
    fingerprint: str = ""
    """SHA-256 of the certificate that it showed."""


@dataclass(frozen=True, slots=True)
class Settings:
    split_after_s: float = 5.0
    ping_interval_s: float = 5.0
    ping_timeout_s: float = 10.0
    handshake_s: float = 10.0
    """How long a link may take to be up."""
    dial_most_s: float = 60.0
    """The longest pause between two attempts to connect."""
    retry_s: float = 3.0
    """After so long without an answer a direct message is seen to again."""
    skew_s: float = 5.0
    """Clocks that are further apart are warned about."""
    congested_bytes: int = 512 * 1024
    """With so much unsent, a link is given no more of what history can tell it later."""
    chunk_events: int = 512
    """How many are read from history at a time."""
    recent_events: int = 1024
    """How many of each origin are in memory, for who was away for a moment."""


DEFAULTS: Final = Settings()


class NoteKind(StrEnum):
    """What operators may look for in the journal."""

    LINKED = "linked"
    UNLINKED = "unlinked"
    REFUSED = "refused"
    BROKEN = "broken"
    """A peer said what it may not say, and was hung up on."""
    SKEWED = "skewed"
    SPLIT = "split"


class Note(NamedTuple):
    kind: NoteKind
    peer: str
    """The name of the other host, as far as it is known."""
    text: str
