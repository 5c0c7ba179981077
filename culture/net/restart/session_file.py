"""Append-only file of session records; the last record of each kind and key wins.

Each write is one line, so that a crash in the middle of a write loses all of its records or none.
"""

import contextlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from culture.ircd.restart.snapshot import FORMAT

# Superseded records up to this size do not trigger a compaction.
ROOM_BYTES: Final = 65536
_encode = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode


@dataclass(slots=True)
class SessionRecords:
    """The contents of a session file. `in_order` means that the writer shut down cleanly after writing it."""

    server: str = ""
    in_order: bool = False
    # Records by kind, then by key.
    values: dict[str, dict[str, Any]] = field(default_factory=dict)

    def of(self, kind: str) -> dict[str, Any]:
        """Return the records of a kind, by key."""
        return self.values.get(kind, {})


class SessionFile:
    """Collects records with `put`, and writes them with `append` or `replace`."""

    def __init__(self, path: Path, server: str) -> None:
        self._path = path
        self._header = {"culture-ircd": server, "format": FORMAT}
        self._fd = -1
        self._size = 0
        self._live = 0
        # Hash and size of the current records; the values themselves are not kept in memory.
        self._known: dict[tuple[str, str], tuple[int, int]] = {}
        self._put: list[str] = []

    @property
    def is_too_large(self) -> bool:
        """Return whether more than half of the file is superseded, so that it should be compacted."""
        return self._size > 2 * self._live + ROOM_BYTES

    def put(self, kind: str, key: str, value: Any) -> None:
        """Queue a record unless the file has it already. None deletes the record."""
        record = _encode((kind, key, value))
        digest, size = hash(record), len(record)
        known, known_size = self._known.get((kind, key), (None, 0))
        if value is None:
            if self._known.pop((kind, key), None) is None:
                return
            size = 0
        elif known == digest:
            return
        else:
            self._known[kind, key] = digest, size
        self._live += size - known_size
        self._put.append(record)

    def append(self) -> None:
        """Append the queued records as one line."""
        if self._put:
            self._write(self._fd, self._line())

    def forget(self) -> None:
        """Forget all records; `put` them again and then call `replace`."""
        self._known.clear()
        self._put.clear()
        self._live = 0

    def replace(self, *, in_order: bool = False) -> None:
        """Replace the file atomically with the queued records."""
        header = _encode({**self._header, "in_order": in_order}).encode()
        new = self._path.with_suffix(".new")
        fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            self._size = 0
            self._write(fd, header + b"\n" + self._line())
            os.rename(new, self._path)
        except OSError:
            os.close(fd)
            new.unlink(missing_ok=True)
            raise
        self._close()
        self._fd = fd

    def remove(self) -> None:
        """Delete the file, so that no process restores it."""
        self._close()
        self._size = 0
        with contextlib.suppress(FileNotFoundError):
            self._path.unlink()

    def _line(self) -> bytes:
        line = f"[{','.join(self._put)}]\n".encode()
        self._put.clear()
        return line

    def _write(self, fd: int, data: bytes) -> None:
        view = memoryview(data)
        while view:
            written = os.write(fd, view)
            self._size += written
            view = view[written:]

    def _close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def read_kept(path: Path) -> SessionRecords | None:
    """Read a session file; None if it is missing or has another format."""
    try:
        header, *lines = path.read_bytes().split(b"\n")
    except OSError:
        return None
    head = _parse(header)
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        return None
    kept = SessionRecords(str(head.get("culture-ircd", "")), bool(head.get("in_order")))
    for line in lines:
        records = _parse(line)
        for record in records if isinstance(records, list) else ():
            _apply(kept, record)
    return kept


def _apply(kept: SessionRecords, record: Any) -> None:
    """Apply one record; ignore what is not a record."""
    match record:
        case [str(kind), str(key), None]:
            kept.of(kind).pop(key, None)
        case [str(kind), str(key), value]:
            kept.values.setdefault(kind, {})[key] = value


def text_of(data: bytes) -> str | None:
    """Return bytes as text that JSON can hold, or None if empty."""
    return data.decode("latin-1") or None


def bytes_of(text: str | None) -> bytes:
    """Return the bytes that `text_of` encoded."""
    return (text or "").encode("latin-1")


def _parse(line: bytes) -> Any:
    """Parse a line; None if it is incomplete."""
    try:
        return json.loads(line) if line else None
    except ValueError:
        return None
