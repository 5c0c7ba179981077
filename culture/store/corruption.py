"""Detect damaged SQLite databases and set them aside under another name."""

import contextlib
import itertools
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

_DAMAGED: Final = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def is_damage(error: sqlite3.Error) -> bool:
    """Return whether the error means that the database is corrupt."""
    return error.sqlite_errorcode & 0xFF in _DAMAGED


def set_aside_if_damaged(
    path: Path, report: Callable[[str], None], clock: Callable[[], float] = time.time
) -> bool:
    """Set a damaged database aside; return whether it was damaged. Do not use it for accounts."""
    if not path.exists():
        return False
    try:
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.DatabaseError as error:
        if is_damage(error):
            set_aside(path, report, clock)
            return True
    return False


def set_aside(path: Path, report: Callable[[str], None], clock: Callable[[], float]) -> None:
    """Rename a database and its -wal and -shm files, and report the new name."""
    aside = free_name(path.with_name(f"{path.name}.damaged"), clock())
    for suffix in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.rename(f"{path}{suffix}", f"{aside}{suffix}")
    report(f"a damaged file was set aside as '{aside}'")


def free_name(path: Path, at: float) -> Path:
    """Return an unused name with the time appended, and a number if that one exists."""
    return next(free for name in stamped_names(path.name, at) if not (free := path.with_name(name)).exists())


def stamped_names(name: str, at: float) -> Iterator[str]:
    """Yield a name with the time appended, then the same with numbers."""
    stamped = f"{name}-{time.strftime('%Y%m%dT%H%M%S', time.gmtime(at))}"
    yield stamped
    yield from (f"{stamped}-{number}" for number in itertools.count(2))
