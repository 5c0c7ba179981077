"""Which of two changes of the same thing is the later one, on every host that hears of both.

A thing is a topic, one mode, one mask of a list, one key of metadata, or one status of one member.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from culture.names import fold

if TYPE_CHECKING:
    from culture.ircd.channel import Status


class Stamp(NamedTuple):
    """Of two, the greater one wins."""

    at_ms: int
    host: str


def format_stamp(stamp: Stamp) -> str:
    return f"{stamp.at_ms}@{stamp.host}"


def parse_stamp(text: str) -> Stamp:
    """Raises ValueError."""
    at_ms, _, host = text.partition("@")
    return Stamp(int(at_ms), host)


NEVER: Final = Stamp(0, "")
"""Of what nobody ever set: it loses against everything."""

TOPIC: Final = "topic"
"""Modes without a list are known by their letter."""


def mask_key(letter: str, mask: str) -> str:
    return f"{letter} {fold(mask)}"


def metadata_key(key: str) -> str:
    return f"metadata {key}"


@dataclass(slots=True)
class Standing:
    """When one user came to one channel, was kicked from it, and was given or lost a status there.

    It outlasts their stay: what was said of them may arrive before they do, or after they left.
    """

    joined: Stamp = NEVER
    kicked: Stamp = NEVER
    statuses: dict[Status, tuple[Stamp, bool]] = field(default_factory=dict)
    made_at: float = 0.0
    """When the channel was made, as the host of the user knew it when they came."""

    @property
    def latest_ms(self) -> int:
        stamps = [self.joined, self.kicked, *(stamp for stamp, _ in self.statuses.values())]
        return max(stamps).at_ms

    def join(self, stamp: Stamp) -> bool:
        """Whether they are in from now on: not if somebody kicked them after that."""
        self.joined = max(self.joined, stamp)
        return self.joined > self.kicked

    def kick(self, stamp: Stamp) -> bool:
        """Whether they are out from now on: not if they came back after that."""
        self.kicked = max(self.kicked, stamp)
        return self.kicked > self.joined

    def give(self, status: Status, stamp: Stamp, *, present: bool) -> bool:
        """Whether that is news."""
        is_news = stamp > self.statuses.get(status, (NEVER, False))[0]
        if is_news:
            self.statuses[status] = (stamp, present)
        return is_news

    def absorb(self, other: Standing) -> None:
        """Both are of one user, in channels that became one."""
        self.joined, self.kicked = max(self.joined, other.joined), max(self.kicked, other.kicked)
        self.made_at = other.made_at or self.made_at
        for status, (stamp, present) in other.statuses.items():
            self.give(status, stamp, present=present)

    def renew(self, stamp: Stamp, held: set[Status]) -> None:
        """They come anew, with what they are."""
        self.join(stamp)
        for status in held:
            self.give(status, stamp, present=True)

    @property
    def held(self) -> set[Status]:
        """What they are in the channel, since they came."""
        return {
            status for status, (stamp, present) in self.statuses.items() if present and stamp >= self.joined
        }
