"""A connection to this server: its phase, its capabilities, and what waits to be written to it."""

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from culture.ircd.user import User
from culture.protocol.capabilities import Cap
from culture.protocol.render import Form


class Phase(Enum):
    REGISTERING = auto()
    REGISTERED = auto()
    CLOSED = auto()


ANY: Final = frozenset(Phase)
NEW: Final = frozenset({Phase.REGISTERING})
READY: Final = frozenset({Phase.REGISTERED})


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
    form: Form = Form.BARE
    outbox: list[bytes] = field(default_factory=list)
    queued_bytes: int = 0
    close_reason: str = ""

    def set_caps(self, caps: set[Cap]) -> None:
        self.caps = caps
        self.form = Form.BARE
        if Cap.MESSAGE_TAGS in caps:
            self.form |= Form.TAGS
        if Cap.SERVER_TIME in caps:
            self.form |= Form.TIME
        if Cap.ACCOUNT_TAG in caps:
            self.form |= Form.ACCOUNT

    def take_output(self) -> bytes:
        """All that waits, in one piece; nothing waits afterwards."""
        data = b"".join(self.outbox)
        self.outbox.clear()
        self.queued_bytes = 0
        return data
