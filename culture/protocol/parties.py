"""Parties: the identity of an author, or of one end of a direct message.

A nick identifies nobody, because somebody else may take it later. An account identifies its owner on its
host; another host may have an account of the same name. A user without an account is identified by the
session, whose id is never used again.

History and links use the text form of a party:

    account:ori             an account of the host that writes it
    account:ori@thor        an account of the host thor
    session:5f0c…@thor      a session on thor of a user who is not logged in
    nick:spark-ori          a user of whom only the nick is known; no reader can prove to be this user
"""

from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Final

from culture.names import fold, is_host, is_nick

SESSION_ID_LENGTH: Final = 64
_CACHED: Final = 4096


class PartyKind(StrEnum):
    """How a party is identified."""

    ACCOUNT = "account"
    SESSION = "session"
    NICK = "nick"


@dataclass(frozen=True, slots=True)
class Party:
    """An account, a session or a nick, and the host that vouches for it."""

    kind: PartyKind
    # The folded name of the account, the id of the session, or the folded nick.
    name: str
    # The host that vouches for it; empty for the host that uses this value. A nick has none.
    host: str = ""
    text: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Computed once, because history writes it with every direct message.
        text = f"{self.kind.value}:{self.name}@{self.host}" if self.host else f"{self.kind.value}:{self.name}"
        object.__setattr__(self, "text", text)

    def __str__(self) -> str:
        return self.text

    @property
    def can_be_proved(self) -> bool:
        """Return whether a user can prove to be this party."""
        return self.kind is not PartyKind.NICK

    def told_by(self, host: str) -> "Party":
        """Return this party with its host named, as `host` describes its own parties to others."""
        return self if self.host or not self.can_be_proved else Party(self.kind, self.name, host)

    def seen_from(self, host: str) -> "Party":
        """Return this party as `host` itself uses it: without a host if it is a party of that host."""
        return Party(self.kind, self.name) if self.host == host else self


@lru_cache(maxsize=_CACHED)
def party_of(account: str | None, session_id: str, nick: str, host: str = "") -> Party:
    """Return the party of a user. It is cached, because every direct message needs both of its ends."""
    if account:
        # An account of another host may name it, as `ori@thor`.
        return Party(PartyKind.ACCOUNT, fold(account.partition("@")[0]), host)
    if session_id:
        return Party(PartyKind.SESSION, session_id, host)
    return Party(PartyKind.NICK, fold(nick))


@lru_cache(maxsize=_CACHED)
def parse_party(text: str) -> Party:
    """Parse the text form of a party. Raise ValueError if it is not one."""
    kind_name, _, rest = text.partition(":")
    name, at, host = rest.partition("@")
    kind = PartyKind(kind_name)
    if (at and not is_host(host)) or (at and kind is PartyKind.NICK):
        raise ValueError(f"'{text[:80]}' names no host")
    is_name = is_session_id(name) if kind is PartyKind.SESSION else is_nick(name) and fold(name) == name
    if not is_name:
        raise ValueError(f"'{text[:80]}' names nobody")
    return Party(kind, name, host)


def is_session_id(text: str) -> bool:
    """Return whether text is a valid session id: letters, digits, dots and dashes."""
    return (
        0 < len(text) <= SESSION_ID_LENGTH
        and text.isascii()
        and text.replace("-", "0").replace(".", "0").isalnum()
    )
