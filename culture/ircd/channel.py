"""A channel: who is in it, with what standing, its topic and its modes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from culture.ircd.bans import Guard, Masks
from culture.ircd.stamps import NEVER, Stamp
from culture.ircd.user import User
from culture.names import SIGNS, Folded, fold
from culture.protocol.ctcp import is_request
from culture.protocol.multiline import Fragment
from culture.protocol.render import Form

if TYPE_CHECKING:
    from culture.ircd.session import Session


class Status(StrEnum):
    """What a member can be, highest first. The value is the mode's letter."""

    OPERATOR = "o"
    HALF_OPERATOR = "h"
    VOICED = "v"


PREFIXES: dict[Status, str] = {Status.OPERATOR: "@", Status.HALF_OPERATOR: "%", Status.VOICED: "+"}
RANKS: dict[Status, int] = {status: rank for rank, status in enumerate(reversed(Status), start=1)}


def status_of(name: str) -> Status | None:
    """The lowest standing that is addressed in a channel: `@%#ops` and `%#ops` are the same."""
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


FIRST_FLAGS = frozenset({Flag.NO_EXTERNAL, Flag.TOPIC_LOCKED})
"""Those of a new channel."""
_CLOSED = frozenset({Flag.INVITE_ONLY, Flag.SECRET})
_HUSHED = frozenset({Flag.MODERATED, Flag.REGISTERED_SPEAK})
STATUSES: frozenset[str] = frozenset(Status)
FLAGS: frozenset[str] = frozenset(Flag)


@dataclass(frozen=True, slots=True)
class Topic:
    text: str
    set_by: str
    set_at: float


@dataclass(slots=True, eq=False)
class Channel:
    name: str
    created_at: float
    members: dict[User, set[Status]] = field(default_factory=dict)
    flags: set[Flag] = field(default_factory=lambda: set(FIRST_FLAGS))
    settings: dict[Setting, str] = field(default_factory=dict)
    masks: Masks = field(default_factory=Masks)
    topic: Topic | None = None
    renamed_at: float = 0.0
    """When it got its name, if that is not the one it was made with."""
    metadata: dict[str, str] = field(default_factory=dict)
    """What its operators published of it."""
    is_local: bool = False
    """Nothing of it leaves this host. Kept beside its flag: it is asked for every message."""
    stamps: dict[str, Stamp] = field(default_factory=dict)
    """The last change of each thing here, also of what is not set any more."""
    made_anew: Stamp = NEVER
    """What was set before that was set in a channel by the same name which everybody has left."""
    torn: frozenset[str] = frozenset()
    """The hosts that were lost with members of it, who may be in it still."""
    _readers: "dict[Form, list[Session]] | None" = None

    def let_in(self, user: User, statuses: set[Status]) -> None:
        self.members[user] = statuses
        self._readers = None

    def let_out(self, user: User) -> None:
        del self.members[user]
        self._readers = None

    @property
    def readers(self) -> "Mapping[Form, list[Session]]":
        """The members who are connected to this server, by the form in which they read.

        Kept from one message to the next: to find them takes longer than to queue it for them.
        """
        if self._readers is None:
            self._readers = {}
            for user in self.members:
                if user.session is not None:
                    self._readers.setdefault(user.session.form, []).append(user.session)
        return self._readers

    def forget_readers(self) -> None:
        """One of them reads in another form from now on."""
        self._readers = None

    @property
    def key(self) -> Folded:
        return fold(self.name)

    @property
    def own_since(self) -> float:
        """What was said under its name before was said in another channel."""
        return max(self.created_at, self.renamed_at)

    def addressed(self, to: Status | None) -> str:
        """As who writes to its members names it: `#ops`, or `@#ops` for those of a standing."""
        return self.name if to is None else PREFIXES[to] + self.name

    def modes_for(self, user: User) -> list[str]:
        """`+klnt`, the key and the limit, for members alone (RFC 2811 sections 4.2.9 and 4.2.10)."""
        settings = dict(sorted(self.settings.items()))
        values = settings.values() if user in self.members else ()
        return ["+" + "".join([*sorted(self.flags), *settings]), *values]

    @property
    def latest(self) -> Stamp:
        """Of all that was ever set here, the last."""
        return max(self.made_anew, *self.stamps.values(), NEVER)

    @property
    def is_public(self) -> bool:
        """Whether anybody may come in, and so may read what was said."""
        return Setting.KEY not in self.settings and self.flags.isdisjoint(_CLOSED)

    @property
    def guard(self) -> Guard:
        """Whom it keeps out by what they are: only from inside do they read what was said."""
        return self.masks.guard._replace(needs_account=Flag.REGISTERED_JOIN in self.flags)

    def is_visible_to(self, user: User) -> bool:
        """Whether a user may learn that the channel exists, and who is in it."""
        return Flag.SECRET not in self.flags or user in self.members

    def members_for(self, asker: User) -> list[User]:
        """Those that a user may know of: not, for a stranger, the invisible, or anybody in a secret one."""
        if asker in self.members:
            return list(self.members)
        return [user for user in self.members if self.is_visible_to(asker) and not user.is_invisible]

    def at_least(self, status: Status) -> set[User]:
        """The members who stand as high as that, or higher."""
        return {user for user in self.members if self.rank(user) >= RANKS[status]}

    def rank(self, user: User) -> int:
        """How high a user stands: 0 for one without any status, or who is not in the channel."""
        return max((RANKS[status] for status in self.members.get(user, ())), default=0)

    def is_operator(self, user: User) -> bool:
        return Status.OPERATOR in self.members.get(user, ())

    def may_moderate(self, user: User) -> bool:
        """Whether a user may kick, invite, and change modes and topic: operators and half-operators."""
        return self.rank(user) >= RANKS[Status.HALF_OPERATOR]

    def may_speak(self, user: User) -> bool:
        held = self.members.get(user)
        if held:
            return True
        if not self.flags.isdisjoint(_HUSHED) and self._is_hushed(user):
            return False
        if held is None:
            return Flag.NO_EXTERNAL not in self.flags and not self.masks.is_silenced(user)
        return not self.masks.is_member_silenced(user)

    def _is_hushed(self, user: User) -> bool:
        """Whether only some may speak, and this user, without any standing, is not one of them."""
        return Flag.MODERATED in self.flags or user.account is None

    def takes(self, text: str, fragments: tuple[Fragment, ...] = ()) -> bool:
        """Whether a text may be said here, by whoever may speak: requests to programs need not (`C`)."""
        if Flag.NO_CTCP not in self.flags:
            return True
        return not any(map(is_request, [text, *(fragment.text for fragment in fragments)]))

    def prefix(self, user: User, *, all_of_them: bool = False) -> str:
        """`@` for an operator, `+` for one with voice; the highest alone, or all (multi-prefix)."""
        held = "".join(sign for status, sign in PREFIXES.items() if status in self.members[user])
        return held if all_of_them else held[:1]
