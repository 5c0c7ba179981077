"""Stamps that order changes of the same channel setting the same way on every host (last-writer-wins).

A setting is a topic, one mode, one mask of a list, one key of metadata, or one status of one member.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from culture.names import fold
from culture.protocol.event_record import STAMP_TAG, EventRecord

if TYPE_CHECKING:
    from culture.ircd.model.channel import Status


class Stamp(NamedTuple):
    """When and on which host a change was made. The greater stamp wins."""

    at_ms: int
    host: str


def format_stamp(stamp: Stamp) -> str:
    """Return a stamp as `milliseconds@host`."""
    return f"{stamp.at_ms}@{stamp.host}"


def parse_stamp(text: str) -> Stamp:
    """Parse `milliseconds@host`. Raises ValueError."""
    at_ms, _, host = text.partition("@")
    return Stamp(int(at_ms), host)


def stamp_of(record: EventRecord) -> Stamp:
    """Return the stamp of a remote change: the one in its tags, or the time of the event."""
    return Stamp(int(record.tags.get(STAMP_TAG, 0)) or int(record.at * 1000), record.origin)


# The stamp of a setting that nobody ever changed; it loses against every other.
NEVER: Final = Stamp(0, "")

# The key of the topic in `Channel.stamps`. The key of a mode without a list is its letter.
TOPIC: Final = "topic"


def mask_key(letter: str, mask: str) -> str:
    """Return the key of a mask of a list in `Channel.stamps`."""
    return f"{letter} {fold(mask)}"


def metadata_key(key: str) -> str:
    """Return the key of a metadata key in `Channel.stamps`."""
    return f"metadata {key}"


@dataclass(slots=True)
class Standing:
    """The stamps of one user in one channel: of the last join, the last kick and each status.

    It exists before the user joins and after they leave, because late events may refer to it.
    """

    joined: Stamp = NEVER
    kicked: Stamp = NEVER
    statuses: dict[Status, tuple[Stamp, bool]] = field(default_factory=dict)
    # When the channel was created, as the user's host knew it when they joined.
    made_at: float = 0.0

    @property
    def latest_ms(self) -> int:
        """Return the time of the latest change, in milliseconds."""
        stamps = [self.joined, self.kicked, *(stamp for stamp, _ in self.statuses.values())]
        return max(stamps).at_ms

    def join(self, stamp: Stamp) -> bool:
        """Merge a join and return whether the user is in the channel: no later kick is known."""
        self.joined = max(self.joined, stamp)
        return self.joined > self.kicked

    def kick(self, stamp: Stamp) -> bool:
        """Merge a kick and return whether the user is out of the channel: no later join is known."""
        self.kicked = max(self.kicked, stamp)
        return self.kicked > self.joined

    def give(self, status: Status, stamp: Stamp, *, present: bool) -> bool:
        """Merge a change of a status and return whether it is newer than the known one."""
        is_news = stamp > self.statuses.get(status, (NEVER, False))[0]
        if is_news:
            self.statuses[status] = (stamp, present)
        return is_news

    def absorb(self, other: Standing) -> None:
        """Merge the standing of the same user in a channel that was merged into this one."""
        self.joined, self.kicked = max(self.joined, other.joined), max(self.kicked, other.kicked)
        self.made_at = other.made_at or self.made_at
        for status, (stamp, present) in other.statuses.items():
            self.give(status, stamp, present=present)

    def renew(self, stamp: Stamp, held: set[Status]) -> None:
        """Stamp the user as joined again, with the statuses they hold."""
        self.join(stamp)
        for status in held:
            self.give(status, stamp, present=True)

    @property
    def held(self) -> set[Status]:
        """Return the statuses that the user was given since the last join."""
        return {
            status for status, (stamp, present) in self.statuses.items() if present and stamp >= self.joined
        }
