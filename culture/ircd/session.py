"""A connection to this server: its phase, its capabilities, and what waits to be written to it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Final

from culture.ircd.auth import Question
from culture.ircd.draft import Draft
from culture.ircd.sasl.exchange import Exchange
from culture.ircd.user import User
from culture.protocol.capabilities import Cap
from culture.protocol.render import ACCOUNT, BARE, MULTILINE, RELAY, TAGS, TIME, Form


class Phase(Enum):
    REGISTERING = auto()
    REGISTERED = auto()
    LINKED = auto()
    """Another host is on it, or says so."""
    CLOSED = auto()


REGISTERING: Final = Phase.REGISTERING
REGISTERED: Final = Phase.REGISTERED
LINKED: Final = Phase.LINKED
CLOSED: Final = Phase.CLOSED
"""For what runs for every line: finding a member in its enum takes as long as two calls (Python 3.11)."""
ANY: Final = (Phase.REGISTERING, Phase.REGISTERED)
NEW: Final = (Phase.REGISTERING,)
READY: Final = (Phase.REGISTERED,)


UNLIMITED: Final = 1 << 29
"""More lines than anybody says at a time."""

_FORMS: Final = {
    Cap.MESSAGE_TAGS: TAGS,
    Cap.SERVER_TIME: TIME,
    Cap.ACCOUNT_TAG: ACCOUNT,
    Cap.RELAYMSG: RELAY,
}


_LABELING: Final = frozenset({Cap.LABELED_RESPONSE, Cap.BATCH})


@dataclass(slots=True, eq=False)
class SessionFront:
    """What every message asks of a session.

    Slots are in memory in the order of their names, those of a base class before all others: so these are
    together. With a thousand clients that takes a fifth off what a message costs between reading and writing.
    """

    user: User
    phase: Phase = Phase.REGISTERING
    question: Question[Any] | None = None
    """What the outside was asked about this client."""
    draft: Draft | None = None
    """The message of several lines that the client is sending."""
    form: Form = BARE
    wants_echo: bool = False
    """It is told what it said itself (IRCv3 echo-message)."""
    heard_at: float = 0.0
    ping_sent_at: float | None = None
    credit: int = 0
    """Lines that may still be said by the short way before the driver is asked; it sets it."""
    outlet: int = 0
    """The number of the file that output can be written to as it is. 0: `write` takes it."""


@dataclass(slots=True, eq=False, kw_only=True)
class Session(SessionFront):
    peer: str
    """Where it comes from, for people who read logs."""
    connected_at: float
    write: Callable[[bytes], object] | None = None
    """What takes the output away; the driver sets it."""
    password: str = ""
    caps: set[Cap] = field(default_factory=set)
    cap_version: int = 0
    is_negotiating: bool = False
    unlabeled: list[bytes] | None = None
    """While a labeled command runs: what the client gets that is no answer to it."""
    close_reason: str = ""
    subscriptions: frozenset[str] = frozenset()
    """The keys of metadata that the client wants to be told of."""
    metadata_changes: int = 0
    """How many it made in the minute that began at `metadata_since`."""
    metadata_since: float = 0.0
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

    @property
    def is_labeling(self) -> bool:
        """It gets answers to what it labels (IRCv3 labeled-response)."""
        return self.caps >= _LABELING

    def end(self, reason: str) -> None:
        self.phase, self.outlet, self.close_reason = CLOSED, 0, reason

    def set_caps(self, caps: set[Cap]) -> None:
        self.caps = caps
        self.wants_echo = Cap.ECHO_MESSAGE in caps
        several = MULTILINE if {Cap.BATCH, Cap.MULTILINE} <= caps else BARE
        self.form = Form(several + sum(form for cap, form in _FORMS.items() if cap in caps))
        for channel in self.user.channels.values():
            channel.forget_readers()
