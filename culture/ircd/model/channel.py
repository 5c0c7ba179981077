"""A channel: its members and their status, its topic and its modes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from culture.ircd.model.ban_lists import Guard, Masks
from culture.ircd.model.user import User
from culture.ircd.replication.stamps import NEVER, Stamp
from culture.names import SIGNS, Folded, fold
from culture.protocol.ctcp import is_request
from culture.protocol.multiline import Fragment
from culture.protocol.render import Form

if TYPE_CHECKING:
    from culture.ircd.session import Session


class Status(StrEnum):
    """The status of a member, highest first. The value is the letter of the mode."""

    OPERATOR = "o"
    HALF_OPERATOR = "h"
    VOICED = "v"


PREFIXES: dict[Status, str] = {Status.OPERATOR: "@", Status.HALF_OPERATOR: "%", Status.VOICED: "+"}
RANKS: dict[Status, int] = {status: rank for rank, status in enumerate(reversed(Status), start=1)}


def status_of(name: str) -> Status | None:
    """Return the lowest status that a target addresses: `@%#ops` and `%#ops` are the same."""
    signs, hash_, _ = name.partition("#")
    if not signs or not hash_ or signs.strip(SIGNS):
        return None
    return min((status for status, sign in PREFIXES.items() if sign in signs), key=RANKS.__getitem__)


class Flag(StrEnum):
    """A channel mode without a parameter."""

    NO_CTCP = "C"
    LOCAL = "L"
    REGISTERED_SPEAK = "M"
    REGISTERED_JOIN = "R"
    INVITE_ONLY = "i"
    MODERATED = "m"
    NO_EXTERNAL = "n"
    SECRET = "s"
    TOPIC_LOCKED = "t"


class Setting(StrEnum):
    """A channel mode with one value."""

    KEY = "k"
    LIMIT = "l"


# The modes of a new channel.
FIRST_FLAGS = frozenset({Flag.NO_EXTERNAL, Flag.TOPIC_LOCKED})
_CLOSED = frozenset({Flag.INVITE_ONLY, Flag.SECRET})
_RESTRICTS_SPEECH = frozenset({Flag.MODERATED, Flag.REGISTERED_SPEAK})
STATUSES: frozenset[str] = frozenset(Status)
FLAGS: frozenset[str] = frozenset(Flag)


@dataclass(frozen=True, slots=True)
class Topic:
    """The topic of a channel, who set it and when."""

    text: str
    set_by: str
    set_at: float


@dataclass(slots=True, eq=False)
class Channel:
    """A channel, which exists while it has members, here or on another host."""

    name: str
    created_at: float
    members: dict[User, set[Status]] = field(default_factory=dict)
    flags: set[Flag] = field(default_factory=lambda: set(FIRST_FLAGS))
    settings: dict[Setting, str] = field(default_factory=dict)
    masks: Masks = field(default_factory=Masks)
    topic: Topic | None = None
    # When the channel was renamed; 0 if it never was.
    renamed_at: float = 0.0
    # Metadata that channel operators set.
    metadata: dict[str, str] = field(default_factory=dict)
    # Whether the channel stays on this host (+L). Kept beside the flag, because every message reads it.
    is_local: bool = False
    # The stamp of the last change of each mode, mask and topic, also of removed ones.
    stamps: dict[str, Stamp] = field(default_factory=dict)
    # Changes before this stamp belong to an earlier channel of the same name.
    made_anew: Stamp = NEVER
    # Lost hosts whose users may still be members.
    torn: frozenset[str] = frozenset()
    _readers: "dict[Form, list[Session]] | None" = None
    _has_agents: bool | None = None

    def add_member(self, user: User, statuses: set[Status]) -> None:
        """Add a member."""
        self.members[user] = statuses
        self._readers = self._has_agents = None

    def remove_member(self, user: User) -> None:
        """Remove a member."""
        del self.members[user]
        self._readers = self._has_agents = None

    @property
    def readers(self) -> "Mapping[Form, list[Session]]":
        """Return the sessions of members of this host, grouped by the form in which they read messages.

        The groups are cached, because building them takes longer than queueing a message for them.
        """
        if self._readers is None:
            self._readers = {}
            for user in self.members:
                if user.session is not None:
                    self._readers.setdefault(user.session.form, []).append(user.session)
        return self._readers

    @property
    def has_agents(self) -> bool:
        """Return whether a member is an agent or a bot. The answer is cached, because messages need it."""
        if self._has_agents is None:
            self._has_agents = any(user.is_agent for user in self.members)
        return self._has_agents

    def forget_agents(self) -> None:
        """Drop the cached answer, because a member became an agent or is none any more."""
        self._has_agents = None

    def forget_readers(self) -> None:
        """Drop the cached groups, because a member negotiated other capabilities."""
        self._readers = None

    @property
    def key(self) -> Folded:
        """Return the folded name."""
        return fold(self.name)

    @property
    def name_since(self) -> float:
        """Return since when the name belongs to this channel: earlier history is that of another channel."""
        return max(self.created_at, self.renamed_at)

    def addressed(self, to: Status | None) -> str:
        """Return the message target: `#ops`, or `@#ops` for members with a status."""
        return self.name if to is None else PREFIXES[to] + self.name

    def modes_for(self, user: User) -> list[str]:
        """Return modes such as `+klnt`; only members see values (RFC 2811 sections 4.2.9 and 4.2.10)."""
        settings = dict(sorted(self.settings.items()))
        values = settings.values() if user in self.members else ()
        return ["+" + "".join([*sorted(self.flags), *settings]), *values]

    @property
    def latest(self) -> Stamp:
        """Return the stamp of the latest change of the channel."""
        return max(self.made_anew, *self.stamps.values(), NEVER)

    @property
    def is_public(self) -> bool:
        """Return whether the channel has no key and is neither invite-only nor secret."""
        return Setting.KEY not in self.settings and self.flags.isdisjoint(_CLOSED)

    @property
    def guard(self) -> Guard:
        """Return who may not join because of bans or a missing account; they may not read history either."""
        return self.masks.guard._replace(needs_account=Flag.REGISTERED_JOIN in self.flags)

    def is_visible_to(self, user: User) -> bool:
        """Return whether a user may learn that the channel exists and who is in it."""
        return Flag.SECRET not in self.flags or user in self.members

    def is_readable_by(self, user: User) -> bool:
        """Return whether a user may read the metadata of the channel: members and those who may join."""
        if user in self.members:
            return True
        return self.is_public and not self.guard.excludes(user.mask, user.account)

    def members_for(self, asker: User) -> list[User]:
        """Return the members that `asker` may see: others see no invisible users and no secret channel."""
        if asker in self.members:
            return list(self.members)
        return [user for user in self.members if self.is_visible_to(asker) and not user.is_invisible]

    def at_least(self, status: Status) -> set[User]:
        """Return the members with this status or a higher one."""
        return {user for user in self.members if self.rank(user) >= RANKS[status]}

    def rank(self, user: User) -> int:
        """Return the rank of a user: 0 without status or outside the channel."""
        return max((RANKS[status] for status in self.members.get(user, ())), default=0)

    def is_operator(self, user: User) -> bool:
        """Return whether a user is a channel operator."""
        return Status.OPERATOR in self.members.get(user, ())

    def may_moderate(self, user: User) -> bool:
        """Return whether a user is operator or half-operator and so may kick, invite, set modes and topic."""
        return self.rank(user) >= RANKS[Status.HALF_OPERATOR]

    def may_speak(self, user: User) -> bool:
        """Return whether a user may send messages to the channel."""
        held = self.members.get(user)
        if held:
            return True
        if not self.flags.isdisjoint(_RESTRICTS_SPEECH) and self._is_restricted(user):
            return False
        if held is None:
            return Flag.NO_EXTERNAL not in self.flags and not self.masks.is_silenced(user)
        return not self.masks.is_member_silenced(user)

    def _is_restricted(self, user: User) -> bool:
        """Return whether +m or +M keeps a user without status from speaking."""
        return Flag.MODERATED in self.flags or user.account is None

    def takes(self, text: str, fragments: tuple[Fragment, ...] = ()) -> bool:
        """Return whether a text is allowed here: +C forbids CTCP requests."""
        if Flag.NO_CTCP not in self.flags:
            return True
        return not any(map(is_request, [text, *(fragment.text for fragment in fragments)]))

    def prefix(self, user: User, *, show_all: bool = False) -> str:
        """Return the prefix of the highest status of a member, or of all (multi-prefix)."""
        held = "".join(sign for status, sign in PREFIXES.items() if status in self.members[user])
        return held if show_all else held[:1]


class FormerName(NamedTuple):
    """A channel under a name that it had before."""

    channel: Channel
    # When the channel was renamed.
    until: Stamp
