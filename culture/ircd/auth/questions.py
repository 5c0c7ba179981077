"""Questions of the core that are answered outside it, because the answer may take long."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, Protocol, TypeVar

if TYPE_CHECKING:
    from culture.ircd.session import Session

# How much input of a client is kept while a question about it is open.
WAITING_BYTES: Final = 65536

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class ScramKeys:
    """The server-side keys of SCRAM-SHA-256. An unknown account gets keys that no password matches."""

    account: str | None
    salt: bytes
    iterations: int
    stored_key: bytes
    server_key: bytes
    nonce: str


class Creation(Enum):
    """The result of creating an account."""

    DONE = auto()
    EXISTS = auto()
    BAD_NAME = auto()
    BAD_PASSWORD = auto()


class Authenticator(Protocol):
    """Answers questions about accounts, in a worker thread.

    Methods return the account name in its registered spelling, or None if the check fails.
    """

    def check_password(self, name: str, password: str) -> str | None: ...

    def scram_keys(self, name: str) -> ScramKeys: ...

    def account_of_certificate(self, fingerprint: str) -> str | None: ...

    def account_of_token(self, token: str) -> str | None: ...

    def find_account(self, name: str) -> str | None: ...

    def create_account(self, name: str, password: str) -> Creation: ...


class AccountNames(Protocol):
    """Looks up account names without blocking, for every NICK."""

    def find(self, name: str) -> str | None:
        """Return the registered spelling of an account name. Raises CultureError if the lookup fails."""
        ...


class _NoAccounts:
    def find(self, name: str) -> str | None:
        return None


NO_ACCOUNTS: Final[AccountNames] = _NoAccounts()


# The worker pool that answers: accounts, skills or pre-authentication.
# With "slices" nobody answers: the rest of a long command waits for its turn.
Asked = Literal["accounts", "skills", "connections", "slices"]


@dataclass(slots=True, eq=False)
class AccountQuestion(Generic[Answer]):
    """One open question of a session. The next lines of the client wait for the answer."""

    session: Session
    ask: Callable[[Any], Answer]
    then: Callable[[Answer], None]
    # Called if the question cannot be answered.
    unavailable: Callable[[], None]
    of: Asked = "accounts"
    # The label of the command that asked (IRCv3 labeled-response), and its replies so far.
    label: str | None = None
    replies: list[bytes] = field(default_factory=list)
    # Lines that the client sent meanwhile.
    waiting: list[bytes] = field(default_factory=list)

    def hold(self, raw: bytes) -> bool:
        """Keep a line until the answer is there, and return whether there is room for it."""
        self.waiting.append(raw)
        return sum(map(len, self.waiting)) <= WAITING_BYTES
