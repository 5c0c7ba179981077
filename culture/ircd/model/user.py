"""A user of the network: a person or an agent with a nick."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from culture.ircd.replication.stamps import Standing
from culture.names import Folded, fold
from culture.protocol.authority.senders import SenderKind
from culture.protocol.parties import Party, party_of

if TYPE_CHECKING:
    from culture.ircd.model.channel import Channel
    from culture.ircd.session import Session

# What a client is called in replies before it has a nick.
UNNAMED = "*"
USERNAME_LENGTH = 16
HOST_LENGTH = 63

Item = TypeVar("Item")


class UserMode(StrEnum):
    """A user mode. The value is its letter."""

    BOT = "B"
    REGISTERED_ONLY = "R"
    INVISIBLE = "i"
    OPERATOR = "o"
    WALLOPS = "w"


USER_MODES: frozenset[str] = frozenset(UserMode)
# Modes that nobody can set for themselves, only give up (RFC 2812 section 3.1.5).
GRANTED: frozenset[str] = frozenset({UserMode.OPERATOR})


class SignOn(NamedTuple):
    """Identifies a user on every host, whatever the nick: no host signs on two users in one millisecond."""

    at_ms: int
    host: str


NOBODY = SignOn(0, "")


def format_sign_on(who: SignOn) -> str:
    """Return a sign-on in the form of links: `milliseconds@host`."""
    return f"{who.at_ms}@{who.host}"


def parse_sign_on(text: str) -> SignOn:
    """Read a sign-on from the form of links. Raises ValueError."""
    at_ms, _, host = text.partition("@")
    return SignOn(int(at_ms), host)


@dataclass(slots=True, eq=False)
class UserFront:
    """The fields of a user that every message reads, next to each other in memory (see `SessionFront`)."""

    nick: str = UNNAMED
    # nick!user@host, which `identify` sets.
    mask: str = field(init=False, default="")
    # The connection, where the user is connected to this server.
    session: Session | None = None
    away: str | None = None
    account: str | None = None
    # Time of the last PRIVMSG, for the idle time.
    spoke_at: float = 0.0


@dataclass(slots=True, eq=False, kw_only=True)
class User(UserFront):
    """A user of this host or of another."""

    host: str
    signed_on_at: float
    username: str = ""
    # Only `State.set_user_mode` changes it, because it also updates `State.by_mode`.
    modes: set[UserMode] = field(default_factory=set)
    # When the user took the nick; 0 for the nick that the user registered with.
    named_at: float = 0.0
    realname: str = ""
    channels: dict[Folded, Channel] = field(default_factory=dict)
    # Channels that the user was invited to and has not joined, and whether an operator invited.
    invites: dict[Channel, bool] = field(default_factory=dict)
    # Metadata of a user without an account; `State.metadata` has that of accounts.
    metadata: dict[str, str] = field(default_factory=dict)
    # Read markers of a user without an account; `State.markers` has those of accounts.
    markers: dict[Folded, str] = field(default_factory=dict)
    # The host of the user, if it is not this one.
    server: str = ""
    # Identifies this session while its user is not logged in. No other session ever has it; a nick may pass
    # from one user to another. Clients are never told it.
    session_id: str = ""
    standings: dict[Folded, Standing] = field(default_factory=dict)
    # Whether a person or an agent is behind the user, as far as there is proof. Only `set_kind` changes it.
    kind: SenderKind = SenderKind.UNKNOWN

    def __post_init__(self) -> None:
        self.identify()

    def identify(
        self, *, nick: str | None = None, username: str | None = None, host: str | None = None
    ) -> None:
        """Change nick, username or host, and the mask with them."""
        if nick is not None:
            # Share one string with the folded key, which usually equals the nick.
            self.nick = fold(nick) if fold(nick) == nick else nick
        self.username = self.username if username is None else username
        self.host = self.host if host is None else host
        self.mask = f"{self.nick}!{self.username}@{self.host}"

    @property
    def key(self) -> Folded:
        """Return the folded nick."""
        return fold(self.nick)

    @property
    def party(self) -> Party:
        """Return the identity under which history files the messages of this user."""
        return party_of(self.account, self.session_id, self.nick, self.server)

    @property
    def parties(self) -> tuple[Party, ...]:
        """Return all proven identities: the account, and the session from before the login."""
        session = party_of(None, self.session_id, self.nick, self.server)
        return tuple(party for party in dict.fromkeys((self.party, session)) if party.can_be_proved)

    def is_party_to(self, ends: Iterable[Party] | None) -> bool:
        """Return whether a direct message is from or to this user, also from before the login."""
        return ends is not None and not set(self.parties).isdisjoint(ends)

    def is_recipient_of(self, ends: tuple[Party, Party] | None) -> bool:
        """Return whether a direct message is for this user, not for a former owner of the nick."""
        return ends is None or not ends[1].can_be_proved or ends[1] in self.parties

    @property
    def unnamed_session_id(self) -> str:
        """Return the id of the session, or nothing if the user has an account."""
        return "" if self.account else self.session_id

    def standing_in(self, channel: Channel) -> Standing:
        """Return the standing of the user in a channel, with its stamps."""
        return self.standings.setdefault(channel.key, Standing())

    @property
    def is_bot(self) -> bool:
        return UserMode.BOT in self.modes

    @property
    def is_agent(self) -> bool:
        """Return whether the user is an agent or a bot: the server knows it, or the user says so."""
        return self.kind is SenderKind.AGENT or UserMode.BOT in self.modes

    @property
    def is_invisible(self) -> bool:
        return UserMode.INVISIBLE in self.modes

    @property
    def is_operator(self) -> bool:
        """Return whether the user is a server operator, which gives no rights in channels."""
        return UserMode.OPERATOR in self.modes

    def accepts_messages_from(self, sender: User) -> bool:
        """Return whether `sender` may write to this user: with mode +R only users with an account may."""
        return UserMode.REGISTERED_ONLY not in self.modes or sender.account is not None or sender is self


def toggle(held: set[Item], item: Item, present: bool) -> None:
    if present:
        held.add(item)
    else:
        held.discard(item)
