"""The database of one agent: its state across restarts, used by one connection of one thread.

Queue and marks change in the same transaction, so a mark never moves past a message that is not queued. After
a power failure the last moments of both are missing and are read from the server again; a killed process
loses nothing. So no commit waits for the disk.
"""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from culture.errors import UnavailableError
from culture.store.agent.audit import AuditLog
from culture.store.agent.questions import QuestionStore
from culture.store.agent.queue import Queue
from culture.store.agent.read_marks import ReadMarks
from culture.store.agent.transcript import Transcript
from culture.store.database import BUSY_S, MIGRATIONS, prepare

FILE: Final = "agent.db"
# The WAL is checkpointed, which waits for the disk, at this size (32 MB).
LOG_PAGES: Final = 8000


class PastSpending(NamedTuple):
    """Tokens and cost of the turns of one day."""

    day: str
    turns: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost_usd: float


class AgentFile:
    """Queue, marks, questions, audit log and transcript of an agent."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE
        prepare(self._path, MIGRATIONS / "agent")
        with _told(self._path):
            self._connection = sqlite3.connect(self._path, timeout=BUSY_S, isolation_level=None)
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")
        self.queue = Queue(self._connection)
        self.hearing = ReadMarks(self._connection)
        self.questions = QuestionStore(self._connection)
        self.audit = AuditLog(self._connection)
        # The transcript has its own file: it is large, may be deleted, and is read while it is written.
        self.transcript = Transcript(directory)

    @property
    def directory(self) -> Path:
        """Return the state directory of the agent."""
        return self._path.parent

    @contextlib.contextmanager
    def at_once(self) -> Iterator[None]:
        """Run the block in one transaction. SQLite errors become UnavailableError."""
        with _told(self._path), self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            yield
            self.hearing.write_marks()
        self.hearing.written()

    def keep(self, name: str, value: str) -> None:
        """Store a value under a name."""
        with self.at_once():
            self._connection.execute("INSERT OR REPLACE INTO kept VALUES (?, ?)", (name, value))

    def kept(self, name: str) -> str:
        """Return the value stored under a name, or an empty string."""
        with _told(self._path):
            row = self._connection.execute("SELECT value FROM kept WHERE name = ?", (name,)).fetchone()
        return str(row[0]) if row else ""

    def past_spending(self) -> list[PastSpending]:
        """Return the totals by day that the agent kept itself before there was a ledger."""
        with _told(self._path):
            return [PastSpending(*row) for row in self._connection.execute("SELECT * FROM spent")]

    def forget_past_spending(self) -> None:
        """Delete the totals of before: the ledger has them."""
        with self.at_once():
            self._connection.execute("DELETE FROM spent")

    def close(self) -> None:
        """Close the database and the transcript."""
        self.transcript.close()
        self._connection.close()


@contextlib.contextmanager
def left_queue(directory: Path) -> Iterator[Queue]:
    """Open the queue of a stopped agent read-only."""
    path = directory / FILE
    with _told(path), contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        yield Queue(connection)


@contextlib.contextmanager
def stored_questions(directory: Path) -> Iterator[tuple[QuestionStore, AuditLog]]:
    """Open the questions and the audit log of an agent read-only, whether it runs or not."""
    path = directory / FILE
    with _told(path), contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        yield QuestionStore(connection), AuditLog(connection)


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise UnavailableError(f"cannot use '{path}': {error}") from None
