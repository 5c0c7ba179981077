"""The queue of an agent: messages that need a turn, and their states."""

import sqlite3
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from culture.names import fold

# The id that the daemon gives to a message begins so if the server gave it none.
UNNAMED: Final = "unnamed-"
# So does the id of a message by which the daemon delivers the answer to a question.
ANSWER: Final = "answer:"
# The most messages of one conversation in one turn.
MOST_AT_ONCE: Final = 50


class QueueState(StrEnum):
    """The state of a message in the queue."""

    # It waits for its turn.
    QUEUED = "queued"
    # It was given to the backend.
    INJECTED = "injected"
    # The agent spoke on IRC in its turn.
    ANSWERED = "answered"
    # The turn succeeded without a message of the agent.
    SILENT = "silent"
    # Somebody stopped its turn, or dropped it from the queue. The note says who.
    STOPPED = "stopped"
    # It waited too long, or its turn failed for good. The note says which.
    EXPIRED = "expired"


class QueuedMessage(NamedTuple):
    """A message that needs a turn."""

    msgid: str
    concern: str
    sender: str
    channel: str | None
    text: str
    said_ms: int
    # Whether the sender is an agent itself.
    by_agent: bool = False

    @property
    def has_server_msgid(self) -> bool:
        """Return whether the server gave the message its id, so that others know it by that id."""
        return not self.msgid.startswith((UNNAMED, ANSWER))

    @property
    def conversation(self) -> str:
        """Return the channel, or the sender of a direct message."""
        return self.channel or self.sender


class QueueEntry(NamedTuple):
    """A message with its state in the queue."""

    number: int
    state: QueueState
    question: QueuedMessage
    changed_ms: int
    turn: str
    tries: int
    note: str

    @property
    def is_repeat(self) -> bool:
        """Return whether an earlier turn already had this message."""
        return self.tries > 0


_COLUMNS: Final = (
    "number, state, msgid, concern, sender, channel, text, said_ms, by_agent, changed_ms, turn, tries, note"
)


_DONE: Final = "state IN ('answered', 'silent', 'stopped', 'expired')"


class Queue:
    """The queue; the caller opens the transactions."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def add(self, question: QueuedMessage, now_ms: int) -> bool:
        """Add a message; return False if it is already in the queue, whatever its state."""
        added = self._connection.execute(
            """
            INSERT INTO queue (msgid, state, concern, sender, channel, conversation, text, said_ms,
                               changed_ms, turn, tries, crashes, note, by_agent)
            VALUES (?, 'queued', ?, ?, ?, ?, ?, ?, ?, '', 0, 0, '', ?) ON CONFLICT (msgid) DO NOTHING
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
                int(question.by_agent),
            ),
        )
        return added.rowcount == 1

    def next(self, but_not: Sequence[str] = ()) -> list[QueueEntry]:
        """Return the oldest queued message that is in none of these conversations, and the others with it."""
        others = ", ".join("?" * len(but_not))
        return self._entries(
            f"""
            WHERE state = 'queued' AND conversation =
                (SELECT conversation FROM queue WHERE state = 'queued' AND conversation NOT IN ({others})
                 ORDER BY number LIMIT 1)
            ORDER BY number LIMIT ?
            """,
            *map(fold, but_not),
            MOST_AT_ONCE,
        )

    def inject(self, entries: Iterable[QueueEntry], turn: str, now_ms: int) -> None:
        """Mark messages as given to the backend in this turn."""
        self._connection.executemany(
            """
            UPDATE queue SET state = 'injected', turn = ?, tries = tries + 1, changed_ms = ?
            WHERE number = ?
            """,
            [(turn, now_ms, entry.number) for entry in entries],
        )

    def end_all(self, state: QueueState, now_ms: int) -> int:
        """Give all injected messages this final state; return how many there were."""
        return self._connection.execute(
            "UPDATE queue SET state = ?, changed_ms = ? WHERE state = 'injected'", (state, now_ms)
        ).rowcount

    def answer_one(self, conversation: str, now_ms: int) -> int:
        """Mark the first injected message of a conversation as answered; return how many changed.

        This includes a message that is queued again, because the echo of a reply may arrive after the backend
        died. Only one message is marked: if the backend is killed, the rest is given to it again, which is
        better than losing messages that it did not answer.
        """
        return self._connection.execute(
            """
            UPDATE queue SET state = 'answered', changed_ms = ? WHERE number =
                (SELECT min(number) FROM queue WHERE conversation = ?
                 AND (state = 'injected' OR state = 'queued' AND tries > 0))
            """,
            (now_ms, fold(conversation)),
        ).rowcount

    def reopen(self, turn: str) -> None:
        """Take back that messages of this turn were answered."""
        self._connection.execute(
            "UPDATE queue SET state = 'injected' WHERE turn = ? AND state = 'answered'", (turn,)
        )

    def requeue(self, now_ms: int, *, is_crash: bool) -> int:
        """What the backend was given and did not answer waits again, in its old place."""
        return self._connection.execute(
            """
            UPDATE queue SET state = 'queued', crashes = crashes + ?, changed_ms = ?
            WHERE state = 'injected'
            """,
            (int(is_crash), now_ms),
        ).rowcount

    def end_turn(self, turn: str, note: str, now_ms: int) -> int:
        """Finish the messages of a turn that ended early, so that they are not given to the backend again."""
        return self._connection.execute(
            """
            UPDATE queue SET state = 'silent', note = ?, changed_ms = ?
            WHERE turn = ? AND state IN ('injected', 'queued')
            """,
            (note, now_ms, turn),
        ).rowcount

    def give_up(self, entries: Iterable[QueueEntry], note: str, now_ms: int) -> None:
        self._connection.executemany(
            "UPDATE queue SET state = 'expired', note = ?, changed_ms = ? WHERE number = ?",
            [(note, now_ms, entry.number) for entry in entries],
        )

    def stop(self, entries: Iterable[QueueEntry], note: str, now_ms: int) -> None:
        """Mark messages as stopped. The note says by whom."""
        self._connection.executemany(
            "UPDATE queue SET state = 'stopped', note = ?, changed_ms = ? WHERE number = ?",
            [(note, now_ms, entry.number) for entry in entries],
        )

    def answer(self, msgids: Iterable[str], turn: str, now_ms: int) -> None:
        """Mark queued messages as answered by a turn that they did not start."""
        self._connection.executemany(
            """
            UPDATE queue SET state = 'answered', turn = ?, changed_ms = ?
            WHERE msgid = ? AND state = 'queued'
            """,
            [(turn, now_ms, msgid) for msgid in msgids],
        )

    def find(self, number: int) -> QueueEntry | None:
        """Return the message with this number, or None."""
        return next(iter(self._entries("WHERE number = ?", number)), None)

    def queued(self, msgids: Sequence[str]) -> list[QueueEntry]:
        """Return the queued messages with these ids."""
        marks = ", ".join("?" * len(msgids))
        return self._entries(f"WHERE state = 'queued' AND msgid IN ({marks}) ORDER BY number", *msgids)

    def broken_off(self) -> list[QueueEntry]:
        """Return the queued messages that a turn was given before."""
        return self._entries("WHERE state = 'queued' AND tries > 0 ORDER BY number")

    def injected(self) -> list[QueueEntry]:
        return self._entries("WHERE state = 'injected' ORDER BY number")

    def waiting_since(self, before_ms: int) -> list[QueueEntry]:
        """Those who wait for something that was said before that."""
        return self._entries("WHERE state = 'queued' AND said_ms < ? ORDER BY number", before_ms)

    def beyond(self, most: int) -> list[QueueEntry]:
        """Those who wait behind so many others."""
        return self._entries("WHERE state = 'queued' ORDER BY number LIMIT -1 OFFSET ?", most)

    def beyond_of(self, sender: str, most: int) -> list[QueueEntry]:
        """Return the queued messages of one sender beyond the first `most`."""
        return self._entries(
            "WHERE state = 'queued' AND sender = ? ORDER BY number LIMIT -1 OFFSET ?", sender, most
        )

    def fatal(self, crashes: int) -> list[QueueEntry]:
        """Return the queued messages whose turns crashed at least this often."""
        return self._entries("WHERE state = 'queued' AND crashes >= ? ORDER BY number", crashes)

    def oldest_ms(self) -> int | None:
        """Return the time of the oldest queued message, or None."""
        (oldest,) = self._connection.execute(
            "SELECT min(said_ms) FROM queue WHERE state = 'queued'"
        ).fetchone()
        return oldest if oldest is None else int(oldest)

    def count(self, state: QueueState) -> int:
        """Return the number of messages in this state."""
        (count,) = self._connection.execute("SELECT count(*) FROM queue WHERE state = ?", (state,)).fetchone()
        return int(count)

    def last(self, most: int) -> list[QueueEntry]:
        """Return all unfinished messages and the `most` newest finished ones, in order of arrival."""
        open_ones = self._entries("WHERE state IN ('queued', 'injected')")
        done = self._entries(f"WHERE {_DONE} ORDER BY number DESC LIMIT ?", most)
        return sorted(open_ones + done)

    def forget(self, before_ms: int) -> None:
        """Delete messages that were finished before this time."""
        self._connection.execute(f"DELETE FROM queue WHERE {_DONE} AND changed_ms < ?", (before_ms,))

    def _entries(self, which: str, *values: object) -> list[QueueEntry]:
        rows = self._connection.execute(f"SELECT {_COLUMNS} FROM queue {which}", values)
        return [_entry(*row) for row in rows]


def _entry(
    number: int,
    state: str,
    msgid: str,
    concern: str,
    sender: str,
    channel: str | None,
    text: str,
    said_ms: int,
    by_agent: int,
    changed_ms: int,
    turn: str,
    tries: int,
    note: str,
) -> QueueEntry:
    question = QueuedMessage(msgid, concern, sender, channel, text, said_ms, bool(by_agent))
    return QueueEntry(number, QueueState(state), question, changed_ms, turn, tries, note)
