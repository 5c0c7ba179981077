"""The queue of an agent: what was said to it, and what became of that."""

import sqlite3
from collections.abc import Iterable
from enum import StrEnum
from typing import Final, NamedTuple

from culture.names import fold

MOST_AT_ONCE: Final = 50
"""Lines of one conversation that are taken together."""


class State(StrEnum):
    QUEUED = "queued"
    """It waits for its turn."""
    INJECTED = "injected"
    """It was given to the backend."""
    ANSWERED = "answered"
    """The agent spoke where it was asked, or its turn ended well."""
    EXPIRED = "expired"
    """It was given up: it waited too long, or its turn failed for good. The note says which."""


class Question(NamedTuple):
    """Something said that is worth a turn."""

    msgid: str
    concern: str
    sender: str
    channel: str | None
    text: str
    said_ms: int

    @property
    def conversation(self) -> str:
        return self.channel or self.sender


class Entry(NamedTuple):
    number: int
    state: State
    question: Question
    changed_ms: int
    turn: str
    tries: int
    note: str

    @property
    def is_repeat(self) -> bool:
        return self.tries > 0


_COLUMNS: Final = (
    "number, state, msgid, concern, sender, channel, text, said_ms, changed_ms, turn, tries, note"
)


class Queue:
    """Works inside the transactions of its file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def add(self, question: Question, now_ms: int) -> bool:
        """Whether it is new: what was taken once is not taken again, whatever became of it."""
        added = self._connection.execute(
            """
            INSERT INTO queue (msgid, state, concern, sender, channel, conversation, text, said_ms,
                               changed_ms, turn, tries, crashes, note)
            VALUES (?, 'queued', ?, ?, ?, ?, ?, ?, ?, '', 0, 0, '') ON CONFLICT (msgid) DO NOTHING
            """,
            (
                question.msgid,
                question.concern,
                question.sender,
                question.channel,
                fold(question.conversation),
                question.text,
                question.said_ms,
                now_ms,
            ),
        )
        return added.rowcount == 1

    def next(self) -> list[Entry]:
        """Who has waited longest, and all others who wait in the same conversation."""
        return self._entries(
            """
            WHERE state = 'queued' AND conversation =
                (SELECT conversation FROM queue WHERE state = 'queued' ORDER BY number LIMIT 1)
            ORDER BY number LIMIT ?
            """,
            MOST_AT_ONCE,
        )

    def inject(self, entries: Iterable[Entry], turn: str, now_ms: int) -> None:
        self._connection.executemany(
            """
            UPDATE queue SET state = 'injected', turn = ?, tries = tries + 1, changed_ms = ?
            WHERE number = ?
            """,
            [(turn, now_ms, entry.number) for entry in entries],
        )

    def answer_all(self, now_ms: int) -> int:
        """What the backend was given is done with."""
        return self._connection.execute(
            "UPDATE queue SET state = 'answered', changed_ms = ? WHERE state = 'injected'", (now_ms,)
        ).rowcount

    def answer_one(self, conversation: str, now_ms: int) -> int:
        """The first thing that the backend was given from this conversation is answered.

        Also if it waits again: words of a backend that died as it spoke are heard later. Only one: whoever
        answers several in one message and is killed then is asked again, which it knows; who answered one
        of several would never be asked for the others.
        """
        return self._connection.execute(
            """
            UPDATE queue SET state = 'answered', changed_ms = ? WHERE number =
                (SELECT min(number) FROM queue WHERE conversation = ?
                 AND (state = 'injected' OR state = 'queued' AND tries > 0))
            """,
            (now_ms, fold(conversation)),
        ).rowcount

    def requeue(self, now_ms: int, *, is_crash: bool) -> int:
        """What the backend was given and did not answer waits again, in its old place."""
        return self._connection.execute(
            """
            UPDATE queue SET state = 'queued', crashes = crashes + ?, changed_ms = ?
            WHERE state = 'injected'
            """,
            (int(is_crash), now_ms),
        ).rowcount

    def give_up(self, entries: Iterable[Entry], note: str, now_ms: int) -> None:
        self._connection.executemany(
            "UPDATE queue SET state = 'expired', note = ?, changed_ms = ? WHERE number = ?",
            [(note, now_ms, entry.number) for entry in entries],
        )

    def injected(self) -> list[Entry]:
        return self._entries("WHERE state = 'injected' ORDER BY number")

    def waiting_since(self, before_ms: int) -> list[Entry]:
        """Those who wait for something that was said before that."""
        return self._entries("WHERE state = 'queued' AND said_ms < ? ORDER BY number", before_ms)

    def beyond(self, most: int) -> list[Entry]:
        """Those who wait behind so many others."""
        return self._entries("WHERE state = 'queued' ORDER BY number LIMIT -1 OFFSET ?", most)

    def beyond_of(self, sender: str, most: int) -> list[Entry]:
        """The same, of those by one sender."""
        return self._entries(
            "WHERE state = 'queued' AND sender = ? ORDER BY number LIMIT -1 OFFSET ?", sender, most
        )

    def fatal(self, crashes: int) -> list[Entry]:
        """Those who wait although so many turns with them ended in a crash."""
        return self._entries("WHERE state = 'queued' AND crashes >= ? ORDER BY number", crashes)

    def oldest_ms(self) -> int | None:
        """When the oldest of what waits was said."""
        (oldest,) = self._connection.execute(
            "SELECT min(said_ms) FROM queue WHERE state = 'queued'"
        ).fetchone()
        return oldest if oldest is None else int(oldest)

    def count(self, state: State) -> int:
        (count,) = self._connection.execute("SELECT count(*) FROM queue WHERE state = ?", (state,)).fetchone()
        return int(count)

    def last(self, most: int) -> list[Entry]:
        """What is not done yet, all of it, and the newest of the rest; in the order in which it came."""
        open_ones = self._entries("WHERE state IN ('queued', 'injected')")
        done = self._entries("WHERE state IN ('answered', 'expired') ORDER BY number DESC LIMIT ?", most)
        return sorted(open_ones + done)

    def forget(self, before_ms: int) -> None:
        """What was done with before that."""
        self._connection.execute(
            "DELETE FROM queue WHERE state IN ('answered', 'expired') AND changed_ms < ?", (before_ms,)
        )

    def _entries(self, which: str, *values: object) -> list[Entry]:
        rows = self._connection.execute(f"SELECT {_COLUMNS} FROM queue {which}", values)
        return [
            Entry(number, State(state), Question(*question), changed_ms, turn, tries, note)
            for number, state, *question, changed_ms, turn, tries, note in rows
        ]
