"""The file of one agent: what must be the same after a restart, by one connection of one thread.

Everything in it changes together: how far the network was heard is never written without what was heard
worth a turn. A machine that loses power forgets the last moments of both, and hears them again from the
server; a process that is killed forgets nothing. So no commit waits for the disk.
"""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from culture.errors import UnavailableError
from culture.store.agent.hearing import Hearing
from culture.store.agent.queue import Queue
from culture.store.agent.spending import Spending
from culture.store.database import BUSY_S, MIGRATIONS, prepare

FILE: Final = "agent.db"
LOG_PAGES: Final = 8000
"""How long the log of changes gets before it is put into the file, which waits for the disk (32 MB)."""


class AgentFile:
    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE
        prepare(self._path, MIGRATIONS / "agent")
        with _told(self._path):
            self._connection = sqlite3.connect(self._path, timeout=BUSY_S, isolation_level=None)
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")
        self.queue = Queue(self._connection)
        self.hearing = Hearing(self._connection)
        self.spending = Spending(self._connection)

    @contextlib.contextmanager
    def at_once(self) -> Iterator[None]:
        """All of it takes effect, or nothing. What SQLite cannot do is told as an error of ours."""
        with _told(self._path), self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            yield
            self.hearing.write_marks()
        self.hearing.written()

    def keep(self, name: str, value: str) -> None:
        with self.at_once():
            self._connection.execute("INSERT OR REPLACE INTO kept VALUES (?, ?)", (name, value))

    def kept(self, name: str) -> str:
        """The value that was kept last under this name; empty if there is none."""
        with _told(self._path):
            row = self._connection.execute("SELECT value FROM kept WHERE name = ?", (name,)).fetchone()
        return str(row[0]) if row else ""

    def close(self) -> None:
        self._connection.close()


@contextlib.contextmanager
def left_queue(directory: Path) -> Iterator[Queue]:
    """That of an agent which does not run, to look at: the file stays as it is."""
    path = directory / FILE
    with _told(path), contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        yield Queue(connection)


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise UnavailableError(f"cannot use '{path}': {error}") from None
