"""Somebody on the network: a person or an agent, with a nick."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from culture.names import Folded, fold

if TYPE_CHECKING:
    from culture.ircd.channel import Channel
    from culture.ircd.session import Session

UNNAMED = "*"
"""What a client is called in replies before it has a nick."""


class UserMode(StrEnum):
    INVISIBLE = "i"


USER_MODES: frozenset[str] = frozenset(UserMode)


@dataclass(slots=True, eq=False)
class User:
    host: str
    signed_on_at: float
    nick: str = UNNAMED
    username: str = ""
    realname: str = ""
    account: str | None = None
    away: str | None = None
    spoke_at: float = 0.0
    modes: set[UserMode] = field(default_factory=set)
    session: Session | None = None
    """The connection, where the user is connected to this server."""
    channels: dict[Folded, Channel] = field(default_factory=dict)

    @property
    def key(self) -> Folded:
        return fold(self.nick)

    @property
    def is_invisible(self) -> bool:
        return UserMode.INVISIBLE in self.modes

    @property
    def mask(self) -> str:
        return f"{self.nick}!{self.username}@{self.host}"
