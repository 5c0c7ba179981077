"""One connection to the server: its registration phase, capabilities and login."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Final

from culture.ircd.auth.proof import Proof
from culture.ircd.auth.questions import AccountQuestion
from culture.ircd.delivery.multiline_draft import MultilineDraft
from culture.ircd.model.user import User
from culture.ircd.sasl.exchange import Exchange
from culture.protocol.capabilities import Cap
from culture.protocol.render import ACCOUNT, BARE, MULTILINE, RELAY, TAGS, TIME, Form


class Phase(Enum):
    """What a connection is at the moment."""

    REGISTERING = auto()
    REGISTERED = auto()
    # The peer claims to be another host and has to prove it.
    PROVING = auto()
    # The peer is another host.
    LINKED = auto()
    CLOSED = auto()


REGISTERING: Final = Phase.REGISTERING
REGISTERED: Final = Phase.REGISTERED
PROVING: Final = Phase.PROVING
LINKED: Final = Phase.LINKED
# Constants for code that runs for every line: an enum lookup costs as much as two calls (Python 3.11).
CLOSED: Final = Phase.CLOSED
ANY: Final = (Phase.REGISTERING, Phase.REGISTERED)
NEW: Final = (Phase.REGISTERING,)
READY: Final = (Phase.REGISTERED,)


# The credit of a client without a rate limit: more lines than it can send in one tick.
UNLIMITED: Final = 1 << 29

_FORMS: Final = {
    Cap.MESSAGE_TAGS: TAGS,
    Cap.SERVER_TIME: TIME,
    Cap.ACCOUNT_TAG: ACCOUNT,
    Cap.RELAYMSG: RELAY,
}


_LABELING: Final = frozenset({Cap.LABELED_RESPONSE, Cap.BATCH})
# Two names of the same capability.
METADATA: Final = frozenset({Cap.METADATA, Cap.METADATA_2})


@dataclass(slots=True, eq=False)
class SessionFront:
    """The fields of a session that every message reads, next to each other in memory.

    Python stores the slots of a base class first. With a thousand clients this saves a fifth of the time that
    a message takes between reading and writing.
    """

    user: User
    phase: Phase = Phase.REGISTERING
    # The open question about this client, which its next lines wait for.
    question: AccountQuestion[Any] | None = None
    # The multiline message that the client is sending.
    draft: MultilineDraft | None = None
    form: Form = BARE
    # The client gets its own messages back (IRCv3 echo-message).
    wants_echo: bool = False
    # Time of the last received line, by the timer.
    heard_at: float = 0.0
    ping_sent_at: float | None = None
    # Lines that the fast path may still take before the driver checks the rate; the driver sets it.
    credit: int = 0
    # Bytes that the client caused to be recorded since the driver last read this.
    recorded_bytes: int = 0
    # The file descriptor to write output to directly. 0: the output goes through `write`.
    outlet: int = 0


@dataclass(slots=True, eq=False, kw_only=True)
class Session(SessionFront):
    """A connection of a client or of another host."""

    # The address of the other end, for logs.
    peer: str
    connected_at: float
    # Writes output to the connection; the driver sets it.
    write: Callable[[bytes], object] | None = None
    password: str = ""
    caps: set[Cap] = field(default_factory=set)
    cap_version: int = 0
    is_negotiating: bool = False
    # While a labeled command runs: lines for the client that are not replies to it.
    unlabeled: list[bytes] | None = None
    close_reason: str = ""
    # The metadata keys that the client subscribed to.
    subscriptions: frozenset[str] = frozenset()
    # The number of its metadata changes in the minute that began at `metadata_since`.
    metadata_changes: int = 0
    metadata_since: float = 0.0
    # Times of the last searches for similar nicks, by the timer.
    hinted_at: tuple[float, ...] = ()
    # The SASL exchange in progress.
    exchange: Exchange | None = None
    # Clients from this address need not log in.
    is_trusted: bool = False
    # Pre-authentication is still deciding whether the connection is allowed.
    is_unidentified: bool = False
    # How the client proved who it is. AGENT_UNIX_USER stays for as long as the session does.
    proof: Proof = Proof.NONE
    # The Unix user at the other end, where it is on this machine and the kernel told who it is.
    uid: int | None = None
    # The name of that user, or its number where it has none; empty where it is not known.
    unix_user: str = ""
    # The Unix user at the other end is root or the server's own, who may halt agents.
    is_administrator: bool = False
    # The name of the operator in the configuration, after OPER succeeded.
    oper: str = ""
    # The number of failed logins.
    failures: int = 0
    # The key under which its connections count together for limits: a Unix user or an address.
    client: Hashable = None
    # The number of questions that the server asked about it.
    question_count: int = 0
    # The client is on this machine.
    is_local: bool = False
    # The connection uses TLS.
    is_secure: bool = False
    # SHA-256 of the client's certificate in hexadecimal, where it showed one.
    fingerprint: str = ""

    @property
    def is_labeling(self) -> bool:
        """Return whether the client negotiated labeled-response (IRCv3)."""
        return self.caps >= _LABELING

    @property
    def knows_metadata(self) -> bool:
        """Return whether the client negotiated metadata and so understands its numerics."""
        return not self.caps.isdisjoint(METADATA)

    @property
    def is_metadata_aware(self) -> bool:
        """Return whether the client gets metadata batches unasked (IRCv3 draft/metadata-3, definitions)."""
        return self.knows_metadata and Cap.BATCH in self.caps

    def end(self, reason: str) -> None:
        """Mark the session as closed."""
        self.phase, self.outlet, self.close_reason = CLOSED, 0, reason

    def set_caps(self, caps: set[Cap]) -> None:
        """Set the negotiated capabilities and the form in which the client reads messages."""
        self.caps = caps
        self.wants_echo = Cap.ECHO_MESSAGE in caps
        multiline = MULTILINE if {Cap.BATCH, Cap.MULTILINE} <= caps else BARE
        self.form = Form(multiline + sum(form for cap, form in _FORMS.items() if cap in caps))
        for channel in self.user.channels.values():
            channel.forget_readers()
