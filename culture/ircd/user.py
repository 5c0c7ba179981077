"""Somebody on the network: a person or an agent, with a nick."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from culture.ircd.stamps import Standing
from culture.names import Folded, fold

if TYPE_CHECKING:
    from culture.ircd.channel import Channel
    from culture.ircd.session import Session

UNNAMED = "*"
"""What a client is called in replies before it has a nick."""
USERNAME_LENGTH = 16
HOST_LENGTH = 63


class UserMode(StrEnum):
    BOT = "B"
    REGISTERED_ONLY = "R"
    INVISIBLE = "i"
    OPERATOR = "o"
    WALLOPS = "w"


USER_MODES: frozenset[str] = frozenset(UserMode)
GRANTED: frozenset[str] = frozenset({UserMode.OPERATOR})
"""Modes that nobody can set for themselves, only give up (RFC 2812 section 3.1.5)."""


class SignOn(NamedTuple):
    """Which user it is, on every host, whatever their nick is by now: no host lets in two at one time."""

    at_ms: int
    host: str


NOBODY = SignOn(0, "")


def format_sign_on(who: SignOn) -> str:
    return f"{who.at_ms}@{who.host}"


def parse_sign_on(text: str) -> SignOn:
    """Raises ValueError."""
    at_ms, _, host = text.partition("@")
    return SignOn(int(at_ms), host)


@dataclass(slots=True, eq=False)
class UserFront:
    """What every message asks of a user, together in memory as `SessionFront` is."""

    nick: str = UNNAMED
    mask: str = field(init=False, default="")
    """nick!user@host. `identify` keeps it."""
    session: Session | None = None
    """The connection, where the user is connected to this server."""
    away: str | None = None
    account: str | None = None
    spoke_at: float = 0.0


@dataclass(slots=True, eq=False, kw_only=True)
class User(UserFront):
    host: str
    signed_on_at: float
    username: str = ""
    modes: set[UserMode] = field(default_factory=set)
    """Changed by `State.set_user_mode`, which keeps count."""
    named_at: float = 0.0
    """Since when the nick is theirs: when they took it, or 0 for the one they came with."""
    realname: str = ""
    channels: dict[Folded, Channel] = field(default_factory=dict)
    invites: dict[Channel, bool] = field(default_factory=dict)
    """Channels that the user was invited to and did not join yet, and whether an operator did it."""
    metadata: dict[str, str] = field(default_factory=dict)
    """What the user published; of one who is logged in, the account has it (`State.metadata`)."""
    markers: dict[Folded, str] = field(default_factory=dict)
    """How far the user has read; of one who is logged in, the account has it (`State.markers`)."""
    server: str = ""
    """The host that the user is connected to, where that is another one."""
    standings: dict[Folded, Standing] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.identify()

    def identify(
        self, *, nick: str | None = None, username: str | None = None, host: str | None = None
    ) -> None:
        """The one way to change any of these."""
        if nick is not None:
            # By its folded form they are found. Mostly that is the same, and then it is in memory once.
            self.nick = fold(nick) if fold(nick) == nick else nick
        self.username = self.username if username is None else username
        self.host = self.host if host is None else host
        self.mask = f"{self.nick}!{self.username}@{self.host}"

    @property
    def key(self) -> Folded:
        return fold(self.nick)

    def standing_in(self, channel: Channel) -> Standing:
        return self.standings.setdefault(channel.key, Standing())

    @property
    def is_bot(self) -> bool:
        return UserMode.BOT in self.modes

    @property
    def is_invisible(self) -> bool:
        return UserMode.INVISIBLE in self.modes

    @property
    def is_operator(self) -> bool:
        """Whether this is an operator of the server, which says nothing about channels."""
        return UserMode.OPERATOR in self.modes

    def takes_from(self, sender: User) -> bool:
        """Whether somebody may write to this user, who may want accounts only (`R`)."""
        return UserMode.REGISTERED_ONLY not in self.modes or sender.account is not None or sender is self
