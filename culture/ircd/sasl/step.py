"""What a SASL mechanism decides about a response of its client (RFC 4422 section 3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol

from culture.ircd.auth.questions import Answer, Authenticator


class SaslFailure(Exception):
    """The client did not prove who it is, or does not follow the mechanism."""


@dataclass(frozen=True, slots=True)
class Challenge:
    """Data for the client, which answers it."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Ask(Generic[Answer]):
    """The next step depends on what the authenticator says."""

    ask: Callable[[Authenticator], Answer]
    then: Callable[[Answer], Step]


@dataclass(frozen=True, slots=True)
class LoggedIn:
    """The client has proved that the account is its own."""

    account: str


Step = Challenge | Ask[Any] | LoggedIn


class Mechanism(Protocol):
    """A SASL mechanism, as the server runs it."""

    # Whom the client says to be, as far as it said so; not proved by anything yet.
    claimed: str

    def respond(self, response: bytes) -> Step: ...


def logged_in(account: str | None) -> Step:
    """Return the step that logs the client in to an account."""
    if account is None:
        raise SaslFailure("no such account, or not its secret")
    return LoggedIn(account)


def decoded(data: bytes) -> str:
    """Return a response as text. Raise SaslFailure if it is not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise SaslFailure("not UTF-8") from None
