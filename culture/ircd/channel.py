"""A channel: who is in it, with what standing, its topic and its modes."""

from dataclasses import dataclass, field
from enum import StrEnum

from culture.ircd.user import User
from culture.names import Folded, fold


class Status(StrEnum):
    """What a member can be, highest first. The value is the mode's letter."""

    OPERATOR = "o"
    VOICED = "v"


PREFIXES: dict[Status, str] = {Status.OPERATOR: "@", Status.VOICED: "+"}


class Flag(StrEnum):
    """A channel mode without a parameter."""

    MODERATED = "m"
    NO_EXTERNAL = "n"
    TOPIC_LOCKED = "t"


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
    flags: set[Flag] = field(default_factory=lambda: {Flag.NO_EXTERNAL, Flag.TOPIC_LOCKED})
    topic: Topic | None = None

    @property
    def key(self) -> Folded:
        return fold(self.name)

    @property
    def modes(self) -> str:
        return "+" + "".join(sorted(self.flags))

    def is_operator(self, user: User) -> bool:
        return Status.OPERATOR in self.members.get(user, ())

    def may_speak(self, user: User) -> bool:
        if user not in self.members:
            return Flag.NO_EXTERNAL not in self.flags and Flag.MODERATED not in self.flags
        return Flag.MODERATED not in self.flags or bool(self.members[user])

    def prefix(self, user: User, *, all_of_them: bool = False) -> str:
        """`@` for an operator, `+` for one with voice; the highest alone, or all (multi-prefix)."""
        held = "".join(sign for status, sign in PREFIXES.items() if status in self.members[user])
        return held if all_of_them else held[:1]
