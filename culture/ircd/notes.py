"""What operators want to find in the journal: the core notes it, the driver writes it down."""

from dataclasses import dataclass
from typing import Literal

from culture.ircd.session import Session
from culture.ircd.user import UNNAMED

NoteKind = Literal[
    "account-made",
    "client-killed",
    "host-changed",
    "link-asked",
    "login-failed",
    "login-succeeded",
    "operator-made",
    "operator-refused",
    "reload-asked",
]


@dataclass(frozen=True, slots=True)
class Note:
    """One entry. It holds no secret, and nothing that somebody said."""

    kind: NoteKind
    text: str
    peer: str
    nick: str | None = None
    account: str | None = None
    mechanism: str | None = None
    """How somebody showed who they are."""
    operator: str | None = None
    """By the name in the configuration."""


class Notes:
    def __init__(self) -> None:
        self._notes: list[Note] = []

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
        """`what` goes on after who it was."""
        nick = None if session.user.nick == UNNAMED else session.user.nick
        who = f"{nick} ({session.peer})" if nick else session.peer
        self._notes.append(Note(kind, f"{who} {what}", session.peer, nick, account, mechanism, operator))

    def take(self) -> list[Note]:
        """All since the last time."""
        notes, self._notes = self._notes, []
        return notes
