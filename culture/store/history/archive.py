"""The archive: a journal to append to, and a database that is filled from it and read."""

import contextlib
import itertools
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from culture.errors import UnavailableError
from culture.store.damage import is_damage, set_aside, set_aside_if_damaged
from culture.store.database import MIGRATIONS, prepare
from culture.store.history.filing import Filing, filed_position
from culture.store.history.holdings import Holdings, add, filed_holdings
from culture.store.history.indexing import index
from culture.store.history.journal import Entry, Happened, Journal, Position, decode
from culture.store.history.mending import begin_index_anew, is_sound_but_for_index, may_be_of_index
from culture.store.history.vectors import FILE as VECTORS
from culture.store.reserve import give_up, lay_by

FILE: Final = "history.db"
DIRECTORY: Final = "history"
SLICE: Final = 50
"""How many events are filed at a time: about a millisecond, after which the server has its turn."""
READERS_SLICE: Final = 1000
"""The same for somebody who waits for it, or when it is far behind."""
INDEX_SLICE: Final = 300
FAR_BYTES: Final = 8 * 1024 * 1024
FILE_EVERY_S: Final = 0.25
REST_S: Final = 0.01
"""Between two slices while there is more to do."""
PRESSED_REST_S: Final = 0.25
"""The same while much is said: the server comes first, and history catches up when it is quiet again."""
PRESSED_BYTES_PER_S: Final = 256 * 1024
"""So much is much: more than a thousand messages."""
RETRY_S: Final = 5.0
TIDY_EVERY_S: Final = 1.0
CATCH_UP_S: Final = 10.0
"""How long a reader waits for what happened before it asked."""
BUSY_S: Final = 10.0
MEND_EVERY_S: Final = 60.0
"""Where a disk damages what is written to it, nobody waits for more than that."""
WAL_BYTES: Final = 64 * 1024 * 1024


class Archive:
    """`append` is for the thread of the server, everything else for any other."""

    def __init__(
        self,
        directory: Path,
        *,
        is_synced: bool = False,
        report: Callable[[str], None] = lambda text: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`report` is told what somebody should know: a damaged file, a full disk."""
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
            if not give_up(self._reserve):
                raise
            self._open()
            self._report("the disk is full: what was laid by for a start is used up")
        if self.journal.position < self._filed:
            # The database is a restored one, and came without its journal.
            self.journal.begin_segment(self._filed.segment + 1)

    def begin_generation(self, least: int) -> int:
        """For the numbers of this process. What an earlier one wrote down is filed before."""
        self.catch_up()
        with self._lock, self._transaction():
            return self._filing.begin_generation(least)

    def append(self, happened: Sequence[Happened]) -> None:
        """All of it or nothing: then it raises UnavailableError, and `report` is told once."""
        try:
            self.journal.append(happened)
        except UnavailableError as error:
            if not self._is_refusing:
                self._is_refusing = True
                self._report(f"messages are refused until they can be written down: {error}")
            raise
        if self._is_refusing:
            self._is_refusing = False
            self._report("messages are taken again")

    def forget(self) -> None:
        """Something was redacted: files that have it besides are to go as soon as they can. As `append`."""
        self.journal.begin_segment()
        self._forget_at = self.journal.position

    def start(self) -> None:
        """File and index behind the traffic, in a thread."""
        self._thread = threading.Thread(target=self._run, name="history", daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        return self._thread is None or self._thread.is_alive()

    def close(self) -> None:
        """At once: what is not filed yet is in the journal."""
        self._is_over = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(CATCH_UP_S)
        with self._lock:
            for connection in [self._connection, *self._readers]:
                connection.close()
            self.journal.close()

    def holdings(self) -> Holdings:
        """Of all that was appended, filed or not."""
        with self._lock:
            held = filed_holdings(self._connection)
            add(held, self._unfiled())
        return held

    def catch_up(self) -> None:
        """Returns when all that happened before can be read. If that takes too long: UnavailableError."""
        end, deadline = self.journal.position, time.monotonic() + CATCH_UP_S
        while self._filed < end:
            with self._lock:
                if self._filed < end:
                    self._file(READERS_SLICE)
            if time.monotonic() > deadline:
                raise UnavailableError("history is behind the traffic")

    def index_for(self, seconds: float) -> None:
        """What was said last can be searched too, unless there is much of it."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self._index():
            pass

    @contextlib.contextmanager
    def reading(self, *, is_current: bool = True) -> Iterator[sqlite3.Connection]:
        """A connection of this thread: up to date, or as far as things are filed."""
        if is_current:
            self.catch_up()
        try:
            yield self._reader()
        except sqlite3.Error as error:
            if may_be_of_index(error):
                with self._lock:
                    self._mend()
            raise UnavailableError(f"cannot read '{self._path}': {error}") from None

    # Behind the traffic.

    def _run(self) -> None:
        while not self._is_over:
            try:
                is_done = self._work()
            except Exception as error:
                self._fail(f"history cannot be filed, and is tried again: {error}")
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
        """A slice of what is to be done; whether nothing is left."""
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
        # Nothing to read before the end: a new file was begun, and is empty.
        self._filed = position or end
        if flaws:
            self._report(f"lines of '{self.directory}/journal-*' that cannot be read: {flaws}")
        if self._is_failing:
            self._is_failing = False
            self._report("history is filed again")

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
        """What happened is on the disk, what was filed too, and files that are not needed are removed."""
        lay_by(self._reserve)
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
        # What is redacted is not to be found in unused parts of the file.
        self._connection.execute("PRAGMA secure_delete = ON")
        self._filing = Filing(self._connection)
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
        # All that the journal still has is filed anew.
        self._open()

    def _mend(self) -> bool:
        """Whether the index of words was begun anew: if nothing else is damaged. Takes seconds."""
        if time.monotonic() - self._looked_at < MEND_EVERY_S:
            return False
        try:
            # One that has not read anything yet: what others remember may not be on the disk any more.
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
            self._report(f"the index of words in '{self._path}' was damaged, and is made anew")
        return self._is_sound

    def _drop_vectors(self) -> None:
        """They tell of events by numbers that others will have."""
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

    def _unfiled(self) -> Iterator[Entry]:
        for line, _ in self.journal.read(self._filed, self.journal.position):
            with contextlib.suppress(ValueError):
                yield decode(line)


def _size(path: Path) -> int:
    with contextlib.suppress(FileNotFoundError):
        return path.stat().st_size
    return 0
