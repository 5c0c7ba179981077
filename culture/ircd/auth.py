"""What the server asks of the outside about accounts, since the answer takes long or is on a disk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar

if TYPE_CHECKING:
    from culture.ircd.session import Session

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class ScramKeys:
    """What the server's side of SCRAM-SHA-256 needs. Of nobody they look the same, and fit no password."""

    account: str | None
    salt: bytes
    iterations: int
    stored_key: bytes
    server_key: bytes
    nonce: str


class Creation(Enum):
    """What came of making an account."""

    DONE = auto()
    EXISTS = auto()
    BAD_NAME = auto()
    BAD_PASSWORD = auto()


class Authenticator(Protocol):
    """Answers in a thread of its own. An account comes back as it is written, or None for no."""

    def check_password(self, name: str, password: str) -> str | None: ...

    def scram_keys(self, name: str) -> ScramKeys: ...

    def account_of_certificate(self, fingerprint: str) -> str | None: ...

    def account_of_token(self, token: str) -> str | None: ...

    def find_account(self, name: str) -> str | None: ...

    def create_account(self, name: str, password: str) -> Creation: ...


@dataclass(slots=True, eq=False)
class Question(Generic[Answer]):
    """One open question of a session. What the client says meanwhile waits for the answer."""

    session: Session
    ask: Callable[[Any], Answer]
    then: Callable[[Answer], None]
    unavailable: Callable[[], None]
    """What to do when there is no answer to be had."""
    of: Literal["accounts", "skills"] = "accounts"
    """Who is asked: the `Authenticator`, or a skill, which `ask` knows."""
    label: str | None = None
    """Of the command that brought it up (IRCv3 labeled-response)."""
    waiting: list[bytes] = field(default_factory=list)
    """Lines that the client sent since."""
