"""What was said in each channel, for an agent to read when it likes: the last lines, and how far it read."""

from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import Final

from culture.names import Folded, fold

MOST_CONVERSATIONS: Final = 256
"""Anyone can write to an agent under any nick; the conversation that was quiet longest makes room."""


@dataclass(frozen=True, slots=True)
class Heard:
    time: str
    nick: str
    text: str


@dataclass(frozen=True, slots=True)
class Reading:
    lines: tuple[Heard, ...]
    # Unread and not given now, because more were there than were asked for.
    left: int
    # Never read and no longer there.
    missed: int


class _Ring:
    def __init__(self, size: int) -> None:
        self.lines: deque[Heard] = deque(maxlen=size)
        self.unread = 0

    def add(self, heard: Heard) -> None:
        self.lines.append(heard)
        self.unread += 1

    def read(self, limit: int) -> Reading:
        missed = max(self.unread - len(self.lines), 0)
        unread = list(self.lines)[len(self.lines) - (self.unread - missed) :]
        self.unread = max(len(unread) - limit, 0)
        return Reading(tuple(unread[:limit]), self.unread, missed)


class Buffers:
    """A ring for each channel, and for each nick that there is a direct conversation with."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._rings: OrderedDict[Folded, _Ring] = OrderedDict()

    def add(self, conversation: str, heard: Heard) -> None:
        key = fold(conversation)
        ring = self._rings.get(key)
        if ring is None:
            ring = self._rings[key] = _Ring(self._size)
            if len(self._rings) > MOST_CONVERSATIONS:
                self._rings.popitem(last=False)
        self._rings.move_to_end(key)
        ring.add(heard)

    def read(self, conversation: str, limit: int) -> Reading:
        """The oldest lines that were not read yet. They count as read afterwards."""
        ring = self._rings.get(fold(conversation))
        return ring.read(limit) if ring else Reading((), 0, 0)
