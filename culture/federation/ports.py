"""The interfaces that the mesh needs of its host, and the values that pass through them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple, Protocol

from culture.names import Folded
from culture.protocol.event_record import EventRecord

# A version vector: by generation, the highest event number.
Levels = Mapping[int, int]
# Precedes a host's name: the scope of direct messages to that host.
DIRECT: Final = ">"


class LocalServer(Protocol):
    """The IRC server of this host. An origin is the name of a host, not empty for this one."""

    def snapshot(self, origin: str, channels: frozenset[Folded] | None) -> Sequence[str]:
        """Return the users of an origin, which may be this host, and the channels with their stamps.

        It covers the given channels, or all that are not local. Lines have no line feeds.
        """
        ...

    def apply_snapshot(self, origin: str, lines: Sequence[str], channels: frozenset[Folded] | None) -> None:
        """Replace the known state of an origin; clients get the differences, which are not recorded."""
        ...

    def apply_event(self, event: EventRecord, *, is_replayed: bool) -> None:
        """Record an event with its origin, number and scope, apply it and deliver it.

        A replayed event need not change the state, because a snapshot follows.
        """
        ...

    def record_event(self, event: EventRecord) -> None:
        """Record a past event. With an empty origin it is an event of this host that was lost."""
        ...

    def remove_users_of(self, origins: Sequence[str], between: tuple[str, str]) -> None:
        """Show the users of these hosts as quit, because the link between two hosts is gone."""
        ...

    def known_hosts(self) -> Sequence[str]:
        """Return the other hosts whose users are known now."""
        ...

    def begin_generation(self, generation: int) -> None:
        """Number the next event as the first of this generation, because peers know a later one than ours."""
        ...


class ReadRequest(NamedTuple):
    """A request to read events of an origin from history, in the order of their numbers."""

    # Empty: this host.
    origin: str
    # Only events after these numbers; of a generation that is missing here, all events.
    after: Levels
    # Only events of these channels; None: of all.
    channels: frozenset[Folded] | None = None
    # Only direct messages to this host; None: no direct messages.
    to: str | None = None
    most: int = 512


class EventLog(Protocol):
    """The stored history, without events that never leave a host (`is_local`)."""

    def holdings(self) -> Mapping[str, Mapping[str, Levels]]:
        """Return the levels by origin (empty: this host) and scope. The mesh calls it once, at the start."""
        ...

    def read(self, request: ReadRequest) -> Sequence[EventRecord]:
        """Return events that were committed before the call. It may be slow, so it runs in a thread."""
        ...


@dataclass(frozen=True, slots=True)
class Peer:
    """A host that this one may link to, as configured."""

    name: str
    secret: str
    # The channels that the link is limited to; None: no limit.
    channels: frozenset[Folded] | None = None
    # An operator can make us connect to it.
    has_address: bool = False
    # We connect to it without being asked.
    is_dialed: bool = False
    # The networks that it may connect from, or `unix`. Empty: any.
    accept_from: tuple[str, ...] = ()
    # The fingerprint of the certificate that it has to present when it connects.
    accept_fingerprint: str = ""
    # Whether the secret itself is sent and accepted by PASS.
    plain_secret: bool = False
    # Secrets that it may prove instead when it connects to us, while the secret is being replaced.
    other_secrets: tuple[str, ...] = ()
    # The hosts that it may report besides itself. None: those whose own records say that it leads to them.
    leads_to: frozenset[str] | None = None


class Caller(NamedTuple):
    """The address and certificate of an incoming connection."""

    # An IP address, or `unix`.
    address: str
    # SHA-256 of the certificate that it presented.
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class MeshSettings:
    """Times and sizes of the mesh."""

    split_after_s: float = 5.0
    ping_interval_s: float = 5.0
    ping_timeout_s: float = 10.0
    # How long a handshake may take.
    handshake_s: float = 10.0
    # The longest pause between two attempts to connect.
    dial_max_pause_s: float = 60.0
    # Direct messages that are not acknowledged for so long are sent again.
    retry_s: float = 3.0
    # A clock difference above this is reported.
    skew_s: float = 5.0
    # With more unsent bytes than this, a link gets no more events until it has caught up.
    congested_bytes: int = 512 * 1024
    # How many events are read from history at a time.
    chunk_events: int = 512
    # Whether our own past events are accepted from peers without a proof.
    believe_past: bool = False
    # How many events of each origin are kept in memory, for peers that were away for a moment.
    recent_events: int = 1024


DEFAULT_SETTINGS: Final = MeshSettings()


class MeshNoteKind(StrEnum):
    """The kinds of notes, by which operators search the journal."""

    LINKED = "linked"
    UNLINKED = "unlinked"
    REFUSED = "refused"
    # A peer violated the protocol, and its link was closed.
    BROKEN = "broken"
    SKEWED = "skewed"
    SPLIT = "split"


class MeshNote(NamedTuple):
    """A note for the journal."""

    kind: MeshNoteKind
    # The name of the other host, as far as it is known.
    peer: str
    text: str
