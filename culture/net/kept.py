"""The file of what a server keeps over a restart: records are appended, and the last one of each counts.

A line is all that is written at one time, so that a line that a crash cut off takes nothing along that it
belongs to.
"""

import contextlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from culture.ircd.snapshot import FORMAT

ROOM_BYTES: Final = 65536
"""So much that no longer counts is never too much."""
_encode = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode


@dataclass(slots=True)
class Kept:
    """What was read. `in_order`: whoever wrote it ended in good order, and nothing happened afterwards."""

    server: str = ""
    in_order: bool = False
    values: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By kind, then by key."""

    def of(self, kind: str) -> dict[str, Any]:
        return self.values.get(kind, {})


class KeptFile:
    """Records are `put`, any number of them, and then written at once."""

    def __init__(self, path: Path, server: str) -> None:
        self._path = path
        self._header = {"culture-ircd": server, "format": FORMAT}
        self._fd = -1
        self._size = 0
        self._live = 0
        self._known: dict[tuple[str, str], tuple[int, int]] = {}
        """Of what counts, a digest and the size: the values themselves are elsewhere."""
        self._put: list[str] = []

    @property
    def is_too_large(self) -> bool:
        """Whether more than half of it no longer counts: it is time to begin anew."""
        return self._size > 2 * self._live + ROOM_BYTES

    def put(self, kind: str, key: str, value: Any) -> None:
        """What is known of one thing, unless it is in the file already. None: nothing any more."""
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
        if self._put:
            self._write(self._fd, self._line())

    def forget(self) -> None:
        """To `put` everything again, and then to `replace` the file."""
        self._known.clear()
        self._put.clear()
        self._live = 0

    def replace(self, *, in_order: bool = False) -> None:
        """In one step: a crash leaves the old one or the new one."""
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
        """Nobody is to take anything up."""
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


def read_kept(path: Path) -> Kept | None:
    """Nothing if there is nothing, or if it is of a format that is not understood."""
    try:
        header, *lines = path.read_bytes().split(b"\n")
    except OSError:
        return None
    about = _parse(header)
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        return None
    kept = Kept(about["culture-ircd"], about["in_order"])
    for line in lines:
        for kind, key, value in _parse(line) or ():
            of_kind = kept.values.setdefault(kind, {})
            if value is None:
                of_kind.pop(key, None)
            else:
                of_kind[key] = value
    return kept


def text_of(data: bytes) -> str | None:
    """Bytes as JSON can hold them."""
    return data.decode("latin-1") or None


def bytes_of(text: str | None) -> bytes:
    return (text or "").encode("latin-1")


def _parse(line: bytes) -> Any:
    """Nothing of a line that was cut off."""
    try:
        return json.loads(line) if line else None
    except ValueError:
        return None
