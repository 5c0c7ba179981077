"""What was said in each channel, for an agent to read when it likes: the last lines, and how far it read."""

from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from culture.names import Folded, fold
from culture.store.agent.read_marks import Mark

# Anyone can write to an agent under any nick; the conversation that was quiet longest makes room.
MAX_CONVERSATIONS: Final = 256


@dataclass(frozen=True, slots=True)
class BufferedLine:
    time: str
    nick: str
    text: str


@dataclass(frozen=True, slots=True)
class UnreadLines:
    lines: tuple[BufferedLine, ...]
    # Unread and not given now, because more were there than were asked for.
    left: int
    # Never read and no longer there.
    missed: int


class _Ring:
    def __init__(self, size: int) -> None:
        self.lines: deque[BufferedLine] = deque(maxlen=size)
        self._msgids: deque[str] = deque(maxlen=size)
        self.unread = 0

    @property
    def read_msgid(self) -> str:
        """Of the last line that was read."""
        return self._msgids[-1 - self.unread]

    def add(self, heard: BufferedLine, msgid: str) -> None:
        self.lines.append(heard)
        self._msgids.append(msgid)
        self.unread += 1

    def read_messages(self, before: int) -> set[str]:
        """Return the ids of the messages read to their end since so many lines were unread."""
        msgids = list(self._msgids)
        first, last = max(len(msgids) - before, 0), len(msgids) - self.unread
        # A message of several lines counts when its last line was read.
        return {msgid for msgid in msgids[first:last] if msgid} - set(msgids[last:])

    def read(self, limit: int) -> UnreadLines:
        missed = max(self.unread - len(self.lines), 0)
        unread = list(self.lines)[len(self.lines) - (self.unread - missed) :]
        self.unread = max(len(unread) - limit, 0)
        return UnreadLines(tuple(unread[:limit]), self.unread, missed)


class Buffers:
    """A ring for each channel, and for each nick that there is a direct conversation with."""

    def __init__(
        self,
        size: int,
        on_read: Callable[[str, Mark], None] = lambda name, mark: None,
        on_messages_read: Callable[[set[str]], None] = lambda msgids: None,
    ) -> None:
        """`on_read` is told how far a conversation was read, `on_messages_read` which messages were."""
        self.size = size
        self._on_read = on_read
        self._on_messages_read = on_messages_read
        self._rings: OrderedDict[Folded, _Ring] = OrderedDict()

    def add(self, conversation: str, heard: BufferedLine, msgid: str = "") -> None:
        key = fold(conversation)
        ring = self._rings.get(key)
        if ring is None:
            ring = self._rings[key] = _Ring(self.size)
            if len(self._rings) > MAX_CONVERSATIONS:
                self._rings.popitem(last=False)
        self._rings.move_to_end(key)
        ring.add(heard, msgid)

    def read(self, conversation: str, limit: int) -> UnreadLines:
        """The oldest lines that were not read yet. They count as read afterwards."""
        ring = self._rings.get(fold(conversation))
        before = ring.unread if ring else 0
        reading = ring.read(limit) if ring else UnreadLines((), 0, 0)
        if ring and reading.lines:
            self._on_read(conversation, Mark(ring.read_msgid, reading.lines[-1].time))
            self._on_messages_read(ring.read_messages(before))
        return reading
