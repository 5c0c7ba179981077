"""How far an agent has heard and read each conversation, and what it said itself."""

import sqlite3
from collections.abc import Container
from typing import Final, NamedTuple

from culture.names import Folded, fold

OWN_MESSAGES: Final = 1000
"""How many messages of its own an agent knows a reply to."""


class Mark(NamedTuple):
    """A message: its id, where the server gives one, and its time as server-time writes it."""

    msgid: str
    time: str


class Hearing:
    """Works inside the transactions of its file; a mark is written with whatever is written next."""

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
        return bool(self._unwritten)

    def mark_of(self, conversation: str) -> Mark | None:
        return self._marks.get(fold(conversation))

    def set_mark(self, conversation: str, mark: Mark) -> None:
        """In memory: at a thousand lines a second nobody writes each of them."""
        name = fold(conversation)
        self._marks[name] = mark
        self._unwritten.add(name)

    def read_until(self, conversation: str) -> Mark | None:
        """The last message that the agent read."""
        return self._read.get(fold(conversation))

    def set_read(self, conversation: str, mark: Mark) -> None:
        name = fold(conversation)
        self._read[name] = mark
        self._unwritten.add(name)

    def write_marks(self) -> None:
        heard = [(name, *self._marks[name]) for name in self._unwritten if name in self._marks]
        read = [(name, *self._read[name]) for name in self._unwritten if name in self._read]
        self._connection.executemany("INSERT OR REPLACE INTO heard VALUES (?, ?, ?)", heard)
        self._connection.executemany("INSERT OR REPLACE INTO read VALUES (?, ?, ?)", read)

    def written(self) -> None:
        self._unwritten.clear()

    @property
    def own(self) -> Container[str]:
        """The ids of what the agent said last."""
        return self._own

    def add_own(self, msgid: str) -> None:
        self._connection.execute("INSERT INTO own (msgid) VALUES (?) ON CONFLICT DO NOTHING", (msgid,))
        self._own[msgid] = None
        if len(self._own) > OWN_MESSAGES:
            oldest = next(iter(self._own))
            del self._own[oldest]
            self._connection.execute("DELETE FROM own WHERE msgid = ?", (oldest,))
