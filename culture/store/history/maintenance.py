"""Operator tasks: check, reindex, back up, restore and export the history."""

import contextlib
import errno
import json
import os
import shutil
import sqlite3
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from culture.errors import NoInputError, TemporaryError, UnavailableError, UsageError
from culture.names import fold
from culture.store.corruption import stamped_names
from culture.store.history.archive import BUSY_S, FILE
from culture.store.history.index_repair import begin_index_anew, flaws_of_index, is_sound_but_for_index
from culture.store.history.ingest import Ingest, filed_position
from culture.store.history.journal import Position, Segments, decode, lock
from culture.store.history.vectors import FILE as VECTORS

TRIES: Final = 5
_LAST: Final = 2**62
_END: Final = Position(_LAST, 0)
_FRESH: Final = "restoring"
_NO_LINK: Final = os.O_NOFOLLOW | os.O_CLOEXEC
# What SQLite calls a file, and those that it puts beside it.
_BESIDE: Final = ("", "-journal", "-wal", "-shm")


@contextlib.contextmanager
def opened(directory: Path) -> Iterator[sqlite3.Connection]:
    """Open the database, also while a server writes to it."""
    path = directory / FILE
    if not path.exists():
        raise NoInputError(f"there is no '{path}'", hint="the server creates it on its first run")
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)) as connection:
            connection.execute("PRAGMA secure_delete = ON")
            yield connection
    except sqlite3.DatabaseError as error:
        hint = "culturectl history check"
        raise UnavailableError(f"cannot use '{path}': {error}", hint=hint) from None


def check(directory: Path) -> list[str]:
    """Return the problems of a history; an empty list means that it is sound."""
    problems = []
    try:
        with opened(directory) as connection:
            told = [row[0] for row in connection.execute("PRAGMA integrity_check(20)")]
            problems += [f"{FILE}: {line}" for line in told if line != "ok"]
            problems += [f"{FILE}: {flaw}" for flaw in flaws_of_index(connection)]
            if problems and is_sound_but_for_index(connection):
                problems.append(f"{FILE}: messages are intact; 'culturectl history reindex' repairs the rest")
    except UnavailableError as error:
        problems.append(str(error))
    journal = Segments(directory)
    for segment in journal.segments():
        # The server may ingest and remove it meanwhile.
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
    """Empty the full-text index; a running server, or the next one, fills it."""
    with opened(directory) as connection:
        if not is_sound_but_for_index(connection):
            raise UnavailableError(f"more of '{directory / FILE}' is damaged than its full-text index")
        begin_index_anew(connection)
        connection.execute("VACUUM")


def backup(directory: Path, target: Path) -> None:
    """Copy the whole history into one file while the server runs."""
    half = target.with_name(target.name + ".part")
    try:
        if target.exists():
            raise UsageError(f"'{target}' exists already")
        for _ in range(TRIES):
            half.unlink(missing_ok=True)
            # An error here concerns the target, not the history.
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
    """Replace the history by a backup; return where the old one is now. No server may be running.

    Root does this in a directory of the server's user, who must not gain privileges by it: no link is
    followed, and all files are handled by open descriptors.
    """
    with contextlib.ExitStack() as opened:
        backup_file = _open_backup(source)
        opened.callback(os.close, backup_file)
        _check_copy(source, backup_file)
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            folder = _open_directory(directory)
            opened.callback(os.close, folder)
            opened.callback(os.close, lock(directory))
        except TemporaryError as error:
            raise TemporaryError(str(error), hint="systemctl stop culture.target culture-ircd") from None
        except OSError as error:
            raise UnavailableError(f"cannot write to '{directory}': {error.strerror}") from None
        try:
            return directory / _replace(folder, backup_file)
        except OSError as error:
            raise UnavailableError(f"cannot write to '{directory}': {error.strerror}") from None


def _replace(folder: int, backup_file: int) -> str:
    """Put a copy of the backup in place of the history, and return the name of the old one's directory."""
    _unlink_if_there(_FRESH, folder)
    fresh = os.open(_FRESH, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, 0o600, dir_fd=folder)
    try:
        # Copy first, because this may fail on a full disk.
        with open(backup_file, "rb", closefd=False) as source, open(fresh, "wb", closefd=False) as copy:
            shutil.copyfileobj(source, copy)
        names = os.listdir(folder)
        aside_name = next(name for name in stamped_names("before-restore", time.time()) if name not in names)
        os.mkdir(aside_name, 0o700, dir_fd=folder)
        aside = os.open(aside_name, os.O_RDONLY | os.O_DIRECTORY | _NO_LINK, dir_fd=folder)
        try:
            for name in names:
                if name.startswith((FILE, "journal-")) or name == VECTORS:
                    os.rename(name, name, src_dir_fd=folder, dst_dir_fd=aside)
            os.rename(_FRESH, FILE, src_dir_fd=folder, dst_dir_fd=folder)
            if os.geteuid() == 0:
                owner = os.fstat(folder)
                for made in (aside, fresh):
                    os.fchown(made, owner.st_uid, owner.st_gid)
        finally:
            os.close(aside)
    finally:
        os.close(fresh)
        _unlink_if_there(_FRESH, folder)
    return aside_name


def _open_backup(source: Path) -> int:
    try:
        return os.open(source, os.O_RDONLY | _NO_LINK)
    except FileNotFoundError:
        raise NoInputError(f"there is no '{source}'") from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UsageError(f"'{source}' is a symbolic link", hint="name the file it points to") from None
        raise NoInputError(f"cannot read '{source}': {error.strerror}") from None


def _open_directory(directory: Path) -> int:
    """Open the directory of a history; follow a link only if root or the current user owns it."""
    status = directory.lstat()
    if stat.S_ISLNK(status.st_mode):
        if status.st_uid not in (0, os.geteuid()):
            raise OSError(errno.ELOOP, "it is a symbolic link of another user")
        directory = directory.resolve()
    return os.open(directory, os.O_RDONLY | os.O_DIRECTORY | _NO_LINK)


def _unlink_if_there(name: str, folder: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def export(directory: Path, channel: str | None = None) -> Iterator[str]:
    """Yield one JSON object per event, in the order of arrival."""
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
    """Copy database and journal; return whether the copy is complete, as segments may vanish meanwhile."""
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
                Ingest(copy).file(journal.read(start, _END))
        except FileNotFoundError:
            return False
        # Segments are removed in order; a fully ingested one may go before the next one is begun.
        return start.segment in journal.segments() or filed_position(source) == start


@contextlib.contextmanager
def _room_for_copy() -> Iterator[None]:
    """Turn SQLITE_FULL into OSError: only the copy is written, so its disk is full."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_FULL:
            raise
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from None


def _check_copy(source: Path, backup_file: int) -> None:
    """Raise UsageError unless the open file, which is called `source`, is an intact history."""
    # immutable=1 reads it without a WAL, which could not be created on a read-only disk.
    uri = f"file:/proc/self/fd/{backup_file}?mode=ro&immutable=1"
    try:
        with contextlib.closing(sqlite3.connect(uri, uri=True)) as connection:
            connection.execute("SELECT id FROM events LIMIT 1")
            # A damaged full-text index is rebuilt later.
            is_whole = is_sound_but_for_index(connection)
    except sqlite3.DatabaseError as error:
        raise UsageError(f"'{source}' is not a backup of a history: {error}") from None
    if not is_whole:
        raise UsageError(f"'{source}' is damaged")
