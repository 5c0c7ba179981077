"""A connection to this server: its phase, its capabilities, and what waits to be written to it."""

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Final

from culture.ircd.auth import Question
from culture.ircd.sasl.exchange import Exchange
from culture.ircd.user import User
from culture.protocol.capabilities import Cap
from culture.protocol.render import ACCOUNT, BARE, TAGS, TIME, Form


class Phase(Enum):
    REGISTERING = auto()
    REGISTERED = auto()
    CLOSED = auto()


ANY: Final = frozenset(Phase)
NEW: Final = frozenset({Phase.REGISTERING})
READY: Final = frozenset({Phase.REGISTERED})


_FORMS: Final = {Cap.MESSAGE_TAGS: TAGS, Cap.SERVER_TIME: TIME, Cap.ACCOUNT_TAG: ACCOUNT}


@dataclass(slots=True, eq=False)
class Session:
    user: User
    peer: str
    """Where it comes from, for people who read logs."""
    connected_at: float
    heard_at: float
    phase: Phase = Phase.REGISTERING
    password: str = ""
    caps: set[Cap] = field(default_factory=set)
    cap_version: int = 0
    is_negotiating: bool = False
    ping_sent_at: float | None = None
    form: Form = BARE
    outbox: list[bytes] = field(default_factory=list)
    queued_bytes: int = 0
    close_reason: str = ""
    question: Question[Any] | None = None
    """What the outside was asked about this client."""
    exchange: Exchange | None = None
    """The SASL exchange that is under way."""
    is_trusted: bool = False
    """It comes from where nobody has to log in."""
    oper: str = ""
    """As which operator of the configuration it is known."""
    failures: int = 0
    """How often it did not prove who it is."""
    is_local: bool = False
    """It comes from this machine: nobody else is on the way."""
    is_secure: bool = False
    """Nobody on the way can read along: it came by TLS."""
    fingerprint: str = ""
    """SHA-256 of the client's certificate in hexadecimal, where it showed one."""

    def set_caps(self, caps: set[Cap]) -> None:
        self.caps = caps
        self.form = Form(sum(form for cap, form in _FORMS.items() if cap in caps))

    def take_output(self) -> bytes:
        """All that waits, in one piece; nothing waits afterwards."""
        data = self.outbox[0] if len(self.outbox) == 1 else b"".join(self.outbox)
        self.outbox.clear()
        self.queued_bytes = 0
        return data
