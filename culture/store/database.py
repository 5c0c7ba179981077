"""The SQLite file: made with the right owner, brought up to date, and opened by several processes at once."""

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from culture.errors import NotAllowedError, TemporaryError, UnavailableError

MIGRATIONS = Path(__file__).parent / "migrations"
FOR_THE_OWNER = 0o600
BUSY_S = 10.0
"""How long one process waits for another that is writing."""
BUSY_PAUSE_S = 0.01


@contextlib.contextmanager
def transaction(path: Path) -> Iterator[sqlite3.Connection]:
    """All of it takes effect, or nothing."""
    with reading(path) as connection, connection:
        # What is removed is not to be found in unused parts of the file.
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("BEGIN IMMEDIATE")
        yield connection


@contextlib.contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Waits for no writer. What SQLite cannot do is told as an error of ours."""
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
        raise UnavailableError(f"cannot use '{path}': {error}") from None
    except sqlite3.DatabaseError as error:
        raise UnavailableError(f"cannot use '{path}': {error}") from None


def _keep_a_log(path: Path) -> None:
    """SQLite does not wait by itself while somebody else does the same."""
    deadline = time.monotonic() + BUSY_S
    with contextlib.closing(sqlite3.connect(path, timeout=BUSY_S)) as connection:
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(BUSY_PAUSE_S)
            else:
                return


def prepare(path: Path, migrations: Path = MIGRATIONS) -> None:
    """Makes the file where there is none, and runs the migrations that it has not seen."""
    _create(path)
    try:
        _keep_a_log(path)
    except sqlite3.DatabaseError as error:
        raise UnavailableError(f"cannot use '{path}': {error}") from None
    with transaction(path) as connection:
        (done,) = connection.execute("PRAGMA user_version").fetchone()
        for script in sorted(migrations.glob("*.sql")):
            number = int(script.name.partition("-")[0])
            if number > done:
                for statement in _statements(script.read_text(encoding="utf-8")):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {number}")


def _statements(script: str) -> Iterator[str]:
    """One by one: `executescript` would end the transaction."""
    statement = ""
    for line in script.splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _create(path: Path) -> None:
    """Only the server's user reads it, also when root made it before the server ever ran."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            made = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FOR_THE_OWNER)
            try:
                if os.geteuid() == 0:
                    # SQLite gives the files that it puts beside this one the same owner.
                    owner = path.parent.stat()
                    os.fchown(made, owner.st_uid, owner.st_gid)
            finally:
                os.close(made)
    except PermissionError as error:
        raise NotAllowedError(f"cannot use '{path}': {error.strerror}") from None
    except OSError as error:
        raise UnavailableError(f"cannot make '{path}': {error.strerror}") from None
