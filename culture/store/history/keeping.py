"""What an operator does with a history: check it, mend its index, back it up, restore it, export it."""

import contextlib
import errno
import json
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from culture.errors import NoInputError, TemporaryError, UnavailableError, UsageError
from culture.names import fold
from culture.store.damage import free_name
from culture.store.history.archive import BUSY_S, FILE
from culture.store.history.filing import Filing, filed_position
from culture.store.history.journal import Position, Segments, decode, lock
from culture.store.history.mending import begin_index_anew, flaws_of_index, is_sound_but_for_index
from culture.store.history.vectors import FILE as VECTORS

TRIES: Final = 5
_LAST: Final = 2**62
_END: Final = Position(_LAST, 0)
_BESIDE: Final = ("", "-journal", "-wal", "-shm")
"""What SQLite calls a file, and those that it puts beside it."""


@contextlib.contextmanager
def opened(directory: Path) -> Iterator[sqlite3.Connection]:
    """The database, also while a server writes to it."""
    path = directory / FILE
    if not path.exists():
        raise NoInputError(f"there is no '{path}'", hint="it is made when the server runs for the first time")
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)) as connection:
            connection.execute("PRAGMA secure_delete = ON")
            yield connection
    except sqlite3.DatabaseError as error:
        hint = "culturectl history check"
        raise UnavailableError(f"cannot use '{path}': {error}", hint=hint) from None


def check(directory: Path) -> list[str]:
    """What is wrong with a history; nothing, if it is well."""
    problems = []
    try:
        with opened(directory) as connection:
            told = [row[0] for row in connection.execute("PRAGMA integrity_check(20)")]
            problems += [f"{FILE}: {line}" for line in told if line != "ok"]
            problems += [f"{FILE}: {flaw}" for flaw in flaws_of_index(connection)]
            if problems and is_sound_but_for_index(connection):
                problems.append(f"{FILE}: messages are whole; 'culturectl history reindex' mends the rest")
    except UnavailableError as error:
        problems.append(str(error))
    journal = Segments(directory)
    for segment in journal.segments():
        # It may be filed and removed while we look.
        with contextlib.suppress(FileNotFoundError):
            problems += _flaws_of_segment(journal, segment)
    return problems


def _flaws_of_segment(journal: Segments, segment: int) -> Iterator[str]:
    for line, position in journal.read(Position(segment, 0), Position(segment, _LAST)):
        try:
            decode(line)
        except ValueError:
            yield f"{journal.path(segment).name}: no entry before byte {position.offset}"


def reindex(directory: Path) -> None:
    """The index of words begins anew; a server that runs, or the next one, fills it."""
    with opened(directory) as connection:
        if not is_sound_but_for_index(connection):
            raise UnavailableError(f"more of '{directory / FILE}' is damaged than its index of words")
        begin_index_anew(connection)
        connection.execute("VACUUM")


def backup(directory: Path, target: Path) -> None:
    """All that was said until now in one file, while the server goes on."""
    half = target.with_name(target.name + ".part")
    try:
        if target.exists():
            raise UsageError(f"'{target}' exists already")
        for _ in range(TRIES):
            half.unlink(missing_ok=True)
            # Where this fails, the history is not to blame.
            half.touch(mode=0o600)
            if _copy(directory, half):
                half.rename(target)
                return
        raise TemporaryError("history changed too fast")
    except OSError as error:
        raise UnavailableError(f"cannot write '{target}': {error.strerror}") from None
    finally:
        for suffix in _BESIDE:
            with contextlib.suppress(OSError):
                half.with_name(half.name + suffix).unlink(missing_ok=True)


def restore(directory: Path, source: Path) -> Path:
    """Where what was there before is now. No server may use the directory."""
    if not source.exists():
        raise NoInputError(f"there is no '{source}'")
    _check_copy(source)
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        held = lock(directory)
    except TemporaryError as error:
        raise TemporaryError(str(error), hint="systemctl stop culture.target culture-ircd") from None
    except OSError as error:
        raise UnavailableError(f"cannot write to '{directory}': {error.strerror}") from None
    fresh = directory / "restoring"
    try:
        # First what may fail for lack of room.
        shutil.copyfile(source, fresh)
        aside = free_name(directory / "before-restore", time.time())
        aside.mkdir()
        for path in [*directory.glob(f"{FILE}*"), *directory.glob("journal-*"), *directory.glob(VECTORS)]:
            path.rename(aside / path.name)
        fresh.rename(directory / FILE)
        owner = directory.stat()
        for path in (aside, directory / FILE):
            path.chmod(0o700 if path.is_dir() else 0o600)
            if os.geteuid() == 0:
                os.chown(path, owner.st_uid, owner.st_gid)
    except OSError as error:
        raise UnavailableError(f"cannot write to '{directory}': {error.strerror}") from None
    finally:
        fresh.unlink(missing_ok=True)
        os.close(held)
    return aside


def export(directory: Path, channel: str | None = None) -> Iterator[str]:
    """JSON, one object for each event, in the order in which they came, until now."""
    with tempfile.TemporaryDirectory(prefix="culture-") as name:
        copy = Path(name)
        backup(directory, copy / FILE)
        yield from _exported(copy, channel)


def _exported(directory: Path, channel: str | None) -> Iterator[str]:
    query = """
    SELECT events.id, at_ms, msgid, command, name, key, target, mask, account, is_public, text, tags, params
    FROM events JOIN places ON places.id = place JOIN sources ON sources.id = source
    WHERE is_redacted = 0 AND (:key IS NULL OR key = :key) ORDER BY events.id
    """
    with opened(directory) as connection:
        for row in connection.execute(query, {"key": None if channel is None else fold(channel)}):
            _, at_ms, msgid, command, name, key, target, mask, account, public, text, tags, params = row
            told = {
                "time": at_ms / 1000,
                "msgid": msgid,
                "command": command,
                "target": target or name,
                "between": None if name else key.split(" "),
                "source": mask,
                "account": account or None,
                "public": bool(public),
                "text": text,
                "tags": json.loads(tags) if tags else None,
                "params": json.loads(params) if params else None,
            }
            yield json.dumps(
                {key: value for key, value in told.items() if value is not None}, ensure_ascii=False
            )


def _copy(directory: Path, target: Path) -> bool:
    """Whether it is whole: a file of the journal may be filed and removed while we look."""
    with opened(directory) as source, contextlib.closing(sqlite3.connect(target)) as copy, _room_for_copy():
        os.chmod(target, 0o600)
        source.backup(copy)
        copy.isolation_level = None
        copy.execute("PRAGMA secure_delete = ON")
        start = filed_position(copy)
        journal = Segments(directory)
        try:
            with copy:
                copy.execute("BEGIN")
                Filing(copy).file(journal.read(start, _END))
        except FileNotFoundError:
            return False
        # They go in order. One that was filed to its end may go before anything of the next is filed.
        return start.segment in journal.segments() or filed_position(source) == start


@contextlib.contextmanager
def _room_for_copy() -> Iterator[None]:
    """Nothing is written to the history itself: if there is no room, there is none for the copy."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_FULL:
            raise
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from None


def _check_copy(source: Path) -> None:
    # As it is copied: without a log beside it, which could not be made where the disk is read only.
    uri = f"{source.absolute().as_uri()}?mode=ro&immutable=1"
    try:
        with contextlib.closing(sqlite3.connect(uri, uri=True)) as connection:
            connection.execute("SELECT id FROM events LIMIT 1")
            # Its index of words is made anew where it does not hold.
            is_whole = is_sound_but_for_index(connection)
    except sqlite3.DatabaseError as error:
        raise UsageError(f"'{source}' is no backup of a history: {error}") from None
    if not is_whole:
        raise UsageError(f"'{source}' is damaged")
