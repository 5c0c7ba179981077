"""The archive: append events to the journal, ingest them into the database, and read them."""

import contextlib
import itertools
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from culture.errors import UnavailableError
from culture.store.corruption import is_damage, set_aside, set_aside_if_damaged
from culture.store.database import MIGRATIONS, prepare
from culture.store.history.holdings import Holdings, add, filed_holdings
from culture.store.history.index_repair import begin_index_anew, is_sound_but_for_index, may_be_of_index
from culture.store.history.indexing import index
from culture.store.history.ingest import Ingest, filed_position
from culture.store.history.journal import EventFields, Journal, JournalEntry, Position, decode
from culture.store.history.vectors import FILE as VECTORS
from culture.store.reserve import create_reserve, release_reserve

FILE: Final = "history.db"
DIRECTORY: Final = "history"
# Events that are ingested at a time: about a millisecond, after which the server's thread may run.
SLICE: Final = 50
# The same when a reader waits, or when ingestion is far behind.
READERS_SLICE: Final = 1000
INDEX_SLICE: Final = 300
FAR_BYTES: Final = 8 * 1024 * 1024
FILE_EVERY_S: Final = 0.25
# Pause between two slices while there is more to do.
REST_S: Final = 0.01
# The same under load: the server comes first, and history catches up later.
PRESSED_REST_S: Final = 0.25
# Load begins at this rate, more than a thousand messages per second.
PRESSED_BYTES_PER_S: Final = 256 * 1024
RETRY_S: Final = 5.0
TIDY_EVERY_S: Final = 1.0
# How long a reader waits until earlier events are ingested.
CATCH_UP_S: Final = 10.0
BUSY_S: Final = 10.0
# Repair is tried at most once in this time, in case the disk damages what is written to it.
MEND_EVERY_S: Final = 60.0
WAL_BYTES: Final = 64 * 1024 * 1024


class Archive:
    """Journal and database of the history. The server's thread calls `append`, other threads the rest."""

    def __init__(
        self,
        directory: Path,
        *,
        is_synced: bool = False,
        report: Callable[[str], None] = lambda text: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Open or create the files. `report` gets messages for the operator: a damaged file, a full disk."""
        self.directory = directory
        self._report = report
        self._clock = clock
        self.journal = Journal(directory, is_synced=is_synced)
        self._path = directory / FILE
        self._reserve = directory / "reserve"
        self._lock = threading.Lock()
        self._readers: list[sqlite3.Connection] = []
        self._local = threading.local()
        self._generation = 0
        self._is_failing = self._is_refusing = False
        self._filed = self._checked = self._synced = self._seen = Position(0, 0)
        self._forget_at: Position | None = None
        self._tidied_at = self._seen_at = 0.0
        self._wake, self._is_over = threading.Event(), False
        self._thread: threading.Thread | None = None
        try:
            self._open()
        except UnavailableError:
            if not release_reserve(self._reserve):
                raise
            self._open()
            self._report("the disk is full: the space reserved for a start is used up")
        if self.journal.position < self._filed:
            # The database was restored without its journal.
            self.journal.begin_segment(self._filed.segment + 1)

    def begin_generation(self, least: int) -> int:
        """Begin a generation of event numbers after ingesting the journal of an earlier process."""
        self.catch_up()
        with self._lock, self._transaction():
            return self._filing.begin_generation(least)

    def append(self, happened: Sequence[EventFields]) -> None:
        """Append all events to the journal. Raise UnavailableError if none were written; report it once."""
        try:
            self.journal.append(happened)
        except UnavailableError as error:
            if not self._is_refusing:
                self._is_refusing = True
                self._report(f"messages are refused until they can be recorded: {error}")
            raise
        if self._is_refusing:
            self._is_refusing = False
            self._report("messages are accepted again")

    def forget(self) -> None:
        """Remove journal and WAL soon, because they contain a redacted message. Call it where `append` is."""
        self.journal.begin_segment()
        self._forget_at = self.journal.position

    def start(self) -> None:
        """Start the thread that ingests and indexes."""
        self._thread = threading.Thread(target=self._run, name="history", daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Return whether the thread still runs, if it was started."""
        return self._thread is None or self._thread.is_alive()

    def close(self) -> None:
        """Close at once; events that are not ingested stay in the journal."""
        self._is_over = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(CATCH_UP_S)
        with self._lock:
            for connection in [self._connection, *self._readers]:
                connection.close()
            self.journal.close()

    def holdings(self) -> Holdings:
        """Return the watermarks of all appended events, ingested or not."""
        with self._lock:
            held = filed_holdings(self._connection)
            add(held, self._unfiled())
        return held

    def catch_up(self) -> None:
        """Wait until all earlier events can be read. Raise UnavailableError if it takes too long."""
        end, deadline = self.journal.position, time.monotonic() + CATCH_UP_S
        while self._filed < end:
            with self._lock:
                if self._filed < end:
                    self._file(READERS_SLICE)
            if time.monotonic() > deadline:
                raise UnavailableError("history is behind the traffic")

    def index_for(self, seconds: float) -> None:
        """Index the latest messages for up to this time, so that they can be searched."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self._index():
            pass

    @contextlib.contextmanager
    def reading(self, *, is_current: bool = True) -> Iterator[sqlite3.Connection]:
        """Return this thread's read connection; with `is_current` all earlier events are ingested first."""
        if is_current:
            self.catch_up()
        try:
            yield self._reader()
        except sqlite3.Error as error:
            if may_be_of_index(error):
                with self._lock:
                    self._mend()
            raise UnavailableError(f"cannot read '{self._path}': {error}") from None

    # The background thread.

    def _run(self) -> None:
        while not self._is_over:
            try:
                is_done = self._work()
            except Exception as error:
                self._fail(f"history cannot be written to the database, will retry: {error}")
                self._wake.wait(RETRY_S)
            else:
                self._wake.wait(FILE_EVERY_S if is_done else self._rest_s())

    def _rest_s(self) -> float:
        before, self._seen = self._seen, self.journal.position
        earlier, self._seen_at = self._seen_at, time.monotonic()
        grown = self._seen.offset - before.offset
        is_much = grown > PRESSED_BYTES_PER_S * (self._seen_at - earlier)
        is_pressed = is_much or self._seen.segment != before.segment
        return PRESSED_REST_S if is_pressed else REST_S

    def _work(self) -> bool:
        """Do one slice of work; return whether nothing is left."""
        if time.monotonic() - self._tidied_at > TIDY_EVERY_S:
            self._tidied_at = time.monotonic()
            self.tidy()
        if self._filed < self.journal.position:
            with self._lock:
                self._file(READERS_SLICE if self._is_far_behind() else SLICE)
            return False
        return not self._index()

    def _is_far_behind(self) -> bool:
        end = self.journal.position
        return end.segment != self._filed.segment or end.offset - self._filed.offset > FAR_BYTES

    def _file(self, most: int) -> None:
        end = self.journal.position
        lines = itertools.islice(self.journal.read(self._filed, end), most)
        try:
            with self._transaction():
                position, flaws = self._filing.file(lines)
        except sqlite3.DatabaseError as error:
            self._filing.forget()
            if may_be_of_index(error):
                if self._mend():
                    return
                if is_damage(error) and not self._is_sound:
                    self._set_aside()
            raise UnavailableError(f"cannot write '{self._path}': {error}") from None
        # If nothing was read, a new and empty segment was begun.
        self._filed = position or end
        if flaws:
            self._report(f"unreadable lines in '{self.directory}/journal-*': {flaws}")
        if self._is_failing:
            self._is_failing = False
            self._report("history is written to the database again")

    def _index(self) -> int:
        with self._lock:
            try:
                with self._transaction() as connection:
                    return index(connection, INDEX_SLICE)
            except sqlite3.DatabaseError as error:
                if not may_be_of_index(error) or not self._mend():
                    raise
                return 0

    def tidy(self) -> None:
        """Sync journal and database to disk, and remove journal segments that are ingested."""
        create_reserve(self._reserve)
        if self._synced != self.journal.position:
            self._synced = self.journal.position
            self.journal.sync()
        filed = self._filed
        if filed == self._checked:
            return
        with contextlib.closing(self._connect()) as connection:
            _, pages, done = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            is_forgetting = self._forget_at is not None and filed >= self._forget_at
            if is_forgetting or _size(Path(f"{self._path}-wal")) > WAL_BYTES:
                is_busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                if is_forgetting and not is_busy:
                    self._forget_at = None
        if pages == done and self._forget_at is None:
            self._checked = filed
            self.journal.remove_before(filed.segment)

    def _fail(self, text: str) -> None:
        if not self._is_failing:
            self._is_failing = True
            self._report(text)

    # The database.

    def _open(self) -> None:
        if set_aside_if_damaged(self._path, self._report, self._clock):
            self._drop_vectors()
        prepare(self._path, MIGRATIONS / "history")
        self._connection = self._connect()
        # Overwrite redacted text, so that it cannot be recovered from the file.
        self._connection.execute("PRAGMA secure_delete = ON")
        self._filing = Ingest(self._connection)
        self._filed = filed_position(self._connection)
        self._looked_at, self._is_sound = -MEND_EVERY_S, True

    def _set_aside(self) -> None:
        for connection in [self._connection, *self._readers]:
            with contextlib.suppress(sqlite3.Error):
                connection.close()
        self._readers.clear()
        self._generation += 1
        set_aside(self._path, self._report, self._clock)
        self._drop_vectors()
        # The new database ingests everything that is still in the journal.
        self._open()

    def _mend(self) -> bool:
        """Rebuild the full-text index if nothing else is damaged; return whether it did. Takes seconds."""
        if time.monotonic() - self._looked_at < MEND_EVERY_S:
            return False
        try:
            # A new connection reads from disk; the caches of others may hide the damage.
            with contextlib.closing(self._connect()) as connection:
                self._is_sound = is_sound_but_for_index(connection)
                if self._is_sound:
                    begin_index_anew(connection)
                    with contextlib.suppress(sqlite3.Error):
                        connection.execute("VACUUM")
        except sqlite3.Error as error:
            if not is_damage(error):
                raise UnavailableError(f"cannot mend '{self._path}': {error}") from None
            self._is_sound = False
        self._looked_at, self._checked = time.monotonic(), Position(0, 0)
        if self._is_sound:
            self._report(f"the full-text index in '{self._path}' was damaged and is being rebuilt")
        return self._is_sound

    def _drop_vectors(self) -> None:
        """Delete the vectors: their row ids will belong to other events."""
        (self.directory / VECTORS).unlink(missing_ok=True)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, timeout=BUSY_S, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA wal_autocheckpoint = 0")
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def _reader(self) -> sqlite3.Connection:
        if getattr(self._local, "generation", None) != self._generation:
            self._local.connection = self._connect()
            self._local.generation = self._generation
            self._readers.append(self._local.connection)
        connection: sqlite3.Connection = self._local.connection
        return connection

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self._connection
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def _unfiled(self) -> Iterator[JournalEntry]:
        for line, _ in self.journal.read(self._filed, self.journal.position):
            with contextlib.suppress(ValueError):
                yield decode(line)


def _size(path: Path) -> int:
    with contextlib.suppress(FileNotFoundError):
        return path.stat().st_size
    return 0
