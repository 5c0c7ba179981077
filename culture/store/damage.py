"""Damaged databases: told from others, and set aside under a name that somebody is told."""

import contextlib
import itertools
import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

_DAMAGED: Final = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def is_damage(error: sqlite3.Error) -> bool:
    return error.sqlite_errorcode & 0xFF in _DAMAGED


def set_aside_if_damaged(
    path: Path, report: Callable[[str], None], clock: Callable[[], float] = time.time
) -> bool:
    """Whether it was. Not for what nobody may begin anew, such as accounts."""
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
    aside = free_name(path.with_name(f"{path.name}.damaged"), clock())
    for suffix in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.rename(f"{path}{suffix}", f"{aside}{suffix}")
    report(f"a damaged file was set aside as '{aside}'")


def free_name(path: Path, at: float) -> Path:
    """With the time behind it, and a number if something was set aside in the same second already."""
    stamped = f"{path.name}-{time.strftime('%Y%m%dT%H%M%S', time.gmtime(at))}"
    names = itertools.chain([stamped], (f"{stamped}-{number}" for number in itertools.count(2)))
    return next(free for name in names if not (free := path.with_name(name)).exists())
