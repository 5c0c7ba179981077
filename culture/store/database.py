"""Create, migrate and open SQLite files that several processes share."""

import contextlib
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from culture.errors import NotAllowedError, TemporaryError, UnavailableError

MIGRATIONS = Path(__file__).parent / "migrations"
FOR_THE_OWNER = 0o600
# How long one process waits for another that is writing.
BUSY_S = 10.0
BUSY_PAUSE_S = 0.01
# SQLite cannot work with less free space than this; the WAL index alone takes half of it.
ROOM_BYTES = 65536
Journal = Literal["WAL", "DELETE"]


@contextlib.contextmanager
def transaction(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the file and run the block in one transaction."""
    with reading(path) as connection, connection:
        # Overwrite deleted rows, so that they cannot be recovered from the file.
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("BEGIN IMMEDIATE")
        yield connection


@contextlib.contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the file; raise TemporaryError if it is locked and UnavailableError for other SQLite errors."""
    try:
        connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
        try:
            connection.execute("PRAGMA foreign_keys = ON")
            yield connection
        finally:
            connection.close()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
            raise TemporaryError(f"'{path}' is busy") from None
        raise _unavailable(path, error) from None
    except sqlite3.DatabaseError as error:
        raise _unavailable(path, error) from None


def _unavailable(path: Path, error: sqlite3.DatabaseError) -> UnavailableError:
    """Return the error. SQLite reports an I/O error if the disk has no room for the -wal and -shm files."""
    is_io = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_IOERR
    is_full = is_io and shutil.disk_usage(path.parent).free < ROOM_BYTES
    return UnavailableError(f"cannot use '{path}': {'the disk is full' if is_full else error}")


def _choose_journal(path: Path, journal: Journal) -> None:
    """Set the journal mode; SQLite does not retry by itself while another process does the same."""
    deadline = time.monotonic() + BUSY_S
    with contextlib.closing(sqlite3.connect(path, timeout=BUSY_S)) as connection:
        while True:
            try:
                connection.execute(f"PRAGMA journal_mode = {journal}")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(BUSY_PAUSE_S)
            else:
                return


def prepare(path: Path, migrations: Path = MIGRATIONS, *, journal: Journal = "WAL") -> None:
    """Create the file if it is missing, and run the migrations that it has not seen.

    With journal mode `DELETE`, reading needs no extra files, which a full disk has no room for, but it may
    wait for a writer.
    """
    _create(path)
    try:
        _choose_journal(path, journal)
    except sqlite3.DatabaseError as error:
        raise _unavailable(path, error) from None
    with transaction(path) as connection:
        (done,) = connection.execute("PRAGMA user_version").fetchone()
        for script in sorted(migrations.glob("*.sql")):
            number = int(script.name.partition("-")[0])
            if number > done:
                for statement in _statements(script.read_text(encoding="utf-8")):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {number}")


def _statements(script: str) -> Iterator[str]:
    """Yield the statements of a script one by one: `executescript` would end the transaction."""
    statement = ""
    for line in script.splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _create(path: Path) -> None:
    """Create the file, readable only by the owner of its directory, even if root creates it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            made = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FOR_THE_OWNER)
            try:
                if os.geteuid() == 0:
                    # SQLite gives the -wal and -shm files the same owner.
                    owner = path.parent.stat()
                    os.fchown(made, owner.st_uid, owner.st_gid)
            finally:
                os.close(made)
    except PermissionError as error:
        raise NotAllowedError(f"cannot use '{path}': {error.strerror}") from None
    except OSError as error:
        raise UnavailableError(f"cannot make '{path}': {error.strerror}") from None
