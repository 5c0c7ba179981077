"""Audit trail: security-relevant events for the journal, which the driver writes."""

from dataclasses import dataclass
from typing import Literal

from culture.ircd.model.user import UNNAMED
from culture.ircd.session import Session

NoteKind = Literal[
    "account-made",
    "client-killed",
    "host-changed",
    "impersonation-refused",
    "link-asked",
    "login-failed",
    "login-succeeded",
    "operator-made",
    "operator-refused",
    "reload-asked",
]


@dataclass(frozen=True, slots=True)
class AuditNote:
    """One journal entry. It holds no secrets and no message text."""

    kind: NoteKind
    text: str
    peer: str
    nick: str | None = None
    account: str | None = None
    # The mechanism of the login.
    mechanism: str | None = None
    # The name of the operator in the configuration.
    operator: str | None = None
    # The Unix user at the other end, if the kernel told it.
    unix_user: str | None = None


class AuditTrail:
    """Collects audit notes until the driver takes them."""

    def __init__(self) -> None:
        self._notes: list[AuditNote] = []

    def add(
        self,
        kind: NoteKind,
        session: Session,
        what: str,
        *,
        account: str | None = None,
        mechanism: str | None = None,
        operator: str | None = None,
    ) -> None:
        """Add a note. `what` is a predicate, which follows the name of the client."""
        nick = None if session.user.nick == UNNAMED else session.user.nick
        unix_user = session.unix_user or None
        where = f"{session.peer}, user {unix_user}" if unix_user else session.peer
        who = f"{nick} ({where})" if nick else where
        self._notes.append(
            AuditNote(kind, f"{who} {what}", session.peer, nick, account, mechanism, operator, unix_user)
        )

    def take(self) -> list[AuditNote]:
        """Return the notes since the last call."""
        notes, self._notes = self._notes, []
        return notes
