"""Watermarks of an agent per conversation (received, read), and the ids of its own messages."""

import sqlite3
from collections.abc import Container
from typing import Final, NamedTuple

from culture.names import Folded, fold

# How many of its own messages an agent recognises in replies.
OWN_MESSAGES: Final = 1000


class Mark(NamedTuple):
    """A position in a conversation: msgid, if the server has them, and time as in server-time."""

    msgid: str
    time: str


class ReadMarks:
    """The marks, cached in memory; each is written with the next transaction of its file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        rows = connection.execute("SELECT conversation, msgid, time FROM heard")
        self._marks = {fold(conversation): Mark(msgid, time) for conversation, msgid, time in rows}
        rows = connection.execute("SELECT conversation, msgid, time FROM read")
        self._read = {fold(conversation): Mark(msgid, time) for conversation, msgid, time in rows}
        self._unwritten: set[Folded] = set()
        own = connection.execute("SELECT msgid FROM own ORDER BY number")
        self._own = dict.fromkeys(msgid for (msgid,) in own)

    @property
    def has_unwritten(self) -> bool:
        """Return whether a mark has changed since the last write."""
        return bool(self._unwritten)

    def mark_of(self, conversation: str) -> Mark | None:
        """Return the last received message."""
        return self._marks.get(fold(conversation))

    def set_mark(self, conversation: str, mark: Mark) -> None:
        """Set the last received message in memory; thousands per second are too many to write each."""
        name = fold(conversation)
        self._marks[name] = mark
        self._unwritten.add(name)

    def read_until(self, conversation: str) -> Mark | None:
        """Return the last message that the agent has read."""
        return self._read.get(fold(conversation))

    def set_read(self, conversation: str, mark: Mark) -> None:
        """Set the last message that the agent has read."""
        name = fold(conversation)
        self._read[name] = mark
        self._unwritten.add(name)

    def write_marks(self) -> None:
        """Write the changed marks inside the caller's transaction."""
        heard = [(name, *self._marks[name]) for name in self._unwritten if name in self._marks]
        read = [(name, *self._read[name]) for name in self._unwritten if name in self._read]
        self._connection.executemany("INSERT OR REPLACE INTO heard VALUES (?, ?, ?)", heard)
        self._connection.executemany("INSERT OR REPLACE INTO read VALUES (?, ?, ?)", read)

    def written(self) -> None:
        """Note that the transaction with the changed marks was committed."""
        self._unwritten.clear()

    @property
    def own(self) -> Container[str]:
        """Return the ids of the agent's last messages."""
        return self._own

    def add_own(self, msgid: str) -> None:
        """Add a message of the agent, and forget the oldest one beyond the limit."""
        self._connection.execute("INSERT INTO own (msgid) VALUES (?) ON CONFLICT DO NOTHING", (msgid,))
        self._own[msgid] = None
        if len(self._own) > OWN_MESSAGES:
            oldest = next(iter(self._own))
            del self._own[oldest]
            self._connection.execute("DELETE FROM own WHERE msgid = ?", (oldest,))
