"""The journal: what happened, one line each, written before anybody is told.

A plain file, since this is on the path of every message. Measured for each, with 64 in one turn and alone:
1 us and 6 us here, 16 us and 50 us for a row with its two indexes in a SQLite transaction.
"""

import contextlib
import errno
import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from culture.errors import NotAllowedError, TemporaryError, UnavailableError
from culture.store.database import FOR_THE_OWNER

SEGMENT_BYTES: Final = 32 * 1024 * 1024
"""Beyond it a new file is begun, so that the old one can be removed once it is filed."""
LOCK_S: Final = 5.0
"""How long a server waits for another to let go."""
_FIELDS: Final = 12
_NOBODY: Final = ("", "")
ALL: Final = "*"
"""The scope of what may be on every host."""

Happened = tuple[
    str,
    float,
    str,
    str,
    str,
    str | None,
    str,
    Mapping[str, str],
    bool,
    tuple[str, str] | None,
    tuple[tuple[str, bool], ...],
    tuple[str, ...],
    str,
    int,
    str,
    bool,
    str,
]
"""msgid, time, command, target, source, account, text, tags, is_public, the two ends of a direct message, the
channels of a QUIT or NICK, parameters, origin, the number there, the host it goes to, is_local, and what
its number counts for."""


class Position(NamedTuple):
    """How far something has come: in which file, and at which byte."""

    segment: int
    offset: int


class Entry(NamedTuple):
    """A line of the journal."""

    seq: int
    id: str
    at_ms: int
    command: str
    target: str
    source: str
    account: str
    is_public: bool
    ends: tuple[str, str]
    text: str
    tags: Mapping[str, str]
    channels: Sequence[tuple[str, bool]]
    params: Sequence[str]
    origin: str
    to: str
    is_local: bool
    scope: str


def encode(happened: Sequence[Happened]) -> bytes:
    """Lines for the journal."""
    lines = []
    # All at once: in two steps it takes a fifth longer.
    for (
        msgid, at, verb, target, mask, account, text, tags, public, ends, rooms, params,
        host, n, to, is_local, scope,
    ) in happened:  # fmt: skip
        rest = ""
        if tags or rooms or params or to or is_local or scope != ALL:
            values = {"tags": tags, "channels": rooms, "params": params, "to": to, "local": is_local}
            values["scope"] = scope if scope != ALL else ""
            rest = json.dumps({name: value for name, value in values.items() if value}, ensure_ascii=False)
        if "\n" in text:
            # No line of IRC can hold a NUL.
            text = text.replace("\n", "\0")
        one, other = ends or _NOBODY
        lines.append(
            f"{n} {host}\t{msgid}\t{int(at * 1000)}\t{verb}\t{target}\t{mask}\t{account or ''}\t"
            f"{'+' if public else '-'}\t{one}\t{other}\t{rest}\t{text}\n"
        )
    return "".join(lines).encode()


def decode(line: bytes) -> Entry:
    """Raises ValueError for what `encode` did not write."""
    fields = line.decode().split("\t", _FIELDS - 1)
    number, msgid, at_ms, command, target, source, account, public, one, other, rest, text = fields
    seq, _, origin = number.partition(" ")
    values = json.loads(rest) if rest else {}
    return Entry(
        _in_a_row(int(seq)),
        msgid,
        _in_a_row(int(at_ms)),
        command,
        target,
        source,
        account,
        public == "+",
        (one, other),
        text.replace("\0", "\n"),
        values.get("tags", {}),
        values.get("channels", ()),
        values.get("params", ()),
        origin,
        values.get("to", ""),
        values.get("local", False),
        values.get("scope", ALL),
    )


def _in_a_row(value: int) -> int:
    """Raises ValueError for what no row of the database can hold."""
    if not 0 <= value < 1 << 63:
        raise ValueError(f"{value} is out of range")
    return value


class Segments:
    """The files of a journal, for who only reads them."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def segments(self) -> list[int]:
        return sorted(int(path.name.partition("-")[2]) for path in self._directory.glob("journal-*"))

    def path(self, segment: int) -> Path:
        return self._directory / f"journal-{segment:08d}"

    def read(self, start: Position, end: Position) -> Iterator[tuple[bytes, Position]]:
        """Each line, and where it ends."""
        for segment in self.segments():
            if not start.segment <= segment <= end.segment:
                continue
            offset = start.offset if segment == start.segment else 0
            stop = end.offset if segment == end.segment else None
            with self.path(segment).open("rb") as file:
                file.seek(offset)
                for line in file:
                    offset += len(line)
                    if (stop is not None and offset > stop) or not line.endswith(b"\n"):
                        break
                    yield line[:-1], Position(segment, offset)


class Journal(Segments):
    """Appended to by one thread; read by any."""

    def __init__(self, directory: Path, *, is_synced: bool = False) -> None:
        """`is_synced`: on the disk, not only in the system's memory, before `append` returns."""
        super().__init__(directory)
        self._is_synced = is_synced
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = lock(directory)
            segment = max(self.segments(), default=1)
            self._file = self._open(segment)
            self.position = Position(segment, _cut_torn_line(self._file))
            """The end. What is before it was told, or is about to be."""
        except OSError as error:
            raise NotAllowedError(f"cannot write to '{directory}': {error.strerror}") from None

    def append(self, happened: Sequence[Happened]) -> None:
        """All of it, or nothing and an UnavailableError."""
        data = encode(happened)
        if self.position.offset >= SEGMENT_BYTES:
            self.begin_segment()
        segment, size = self.position
        try:
            if os.write(self._file, data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if self._is_synced:
                os.fdatasync(self._file)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, size)
            raise UnavailableError(f"cannot write to '{self.path(segment)}': {error.strerror}") from None
        self.position = Position(segment, size + len(data))

    def sync(self) -> None:
        """Waits for the disk. For a thread of its own."""
        with contextlib.suppress(OSError):
            os.fdatasync(self._file)

    def remove_before(self, segment: int) -> None:
        for old in self.segments():
            if old < segment:
                self.path(old).unlink(missing_ok=True)

    def begin_segment(self, segment: int | None = None) -> None:
        """What comes goes to a new file, unless there is no room for one more."""
        number = self.position.segment + 1 if segment is None else segment
        with contextlib.suppress(OSError):
            file = self._open(number)
            os.close(self._file)
            self._file, self.position = file, Position(number, 0)

    def close(self) -> None:
        os.close(self._file)
        os.close(self._lock)

    def _open(self, segment: int) -> int:
        return os.open(self.path(segment), os.O_CREAT | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC, FOR_THE_OWNER)


def lock(directory: Path) -> int:
    """Held by whoever writes: two servers, or a server and a restore, do not get on with each other."""
    held = os.open(directory / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, FOR_THE_OWNER)
    deadline = time.monotonic() + LOCK_S
    while True:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                os.close(held)
                raise TemporaryError(f"another process uses '{directory}'") from None
            time.sleep(LOCK_S / 50)
        else:
            return held


def _cut_torn_line(file: int) -> int:
    """The size without a line that was begun and not ended: nobody was told of it."""
    size = os.fstat(file).st_size
    whole = size
    while whole:
        start = max(0, whole - 65536)
        found = os.pread(file, whole - start, start).rfind(b"\n")
        if found >= 0:
            whole = start + found + 1
            break
        whole = start
    if whole != size:
        os.ftruncate(file, whole)
    return whole
