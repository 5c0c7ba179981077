"""The journal, a write-ahead log: one line per event, written before the event is delivered.

It is a plain file, because every message waits for it. Measured per message, in batches of 64 and alone: 1 us
and 6 us, against 16 us and 50 us for a row with its two indexes in a SQLite transaction.
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
from culture.protocol.parties import Party, parse_party, party_of
from culture.store.database import FOR_THE_OWNER

# At this size a new segment begins, so that the old one can be removed when it is ingested.
SEGMENT_BYTES: Final = 32 * 1024 * 1024
# How long a server waits for the lock of another process.
LOCK_S: Final = 5.0
_FIELDS: Final = 12
_NOBODY: Final = ("", "")
# The scope of events that may be on every host.
ALL: Final = "*"

# msgid, time, command, target, source, account, text, tags, is_public, the two ends of a direct message, the
# channels of a QUIT or NICK, parameters, origin, the number there, the host it goes to, is_local, what its
# number is a watermark for, and the session of a source that is not logged in.
EventFields = tuple[
    str,
    float,
    str,
    str,
    str,
    str | None,
    str,
    Mapping[str, str],
    bool,
    tuple[Party, Party] | None,
    tuple[tuple[str, bool], ...],
    tuple[str, ...],
    str,
    int,
    str,
    bool,
    str,
    str,
]


class Position(NamedTuple):
    """A position in the journal: segment and byte offset."""

    segment: int
    offset: int


class JournalEntry(NamedTuple):
    """A decoded line of the journal."""

    seq: int
    id: str
    at_ms: int
    command: str
    target: str
    source: str
    account: str
    is_public: bool
    ends: tuple[Party, Party] | None
    text: str
    tags: Mapping[str, str]
    channels: Sequence[tuple[str, bool]]
    params: Sequence[str]
    origin: str
    to: str
    is_local: bool
    scope: str
    session_id: str

    @property
    def author(self) -> Party:
        """Return the party that caused the event."""
        return party_of(self.account, self.session_id, self.source.partition("!")[0], self.origin)


def encode(happened: Sequence[EventFields]) -> bytes:
    """Encode events as lines of the journal."""
    lines = []
    # Unpacking all fields at once is a fifth faster than in two steps.
    for (
        msgid, at, verb, target, mask, account, text, tags, public, ends, rooms, params,
        host, n, to, is_local, scope, session_id,
    ) in happened:  # fmt: skip
        rest = ""
        if tags or rooms or params or to or is_local or scope != ALL:
            values = {"tags": tags, "channels": rooms, "params": params, "to": to, "local": is_local}
            values["scope"] = scope if scope != ALL else ""
            rest = json.dumps({name: value for name, value in values.items() if value}, ensure_ascii=False)
        if "\n" in text:
            # No line of IRC can hold a NUL.
            text = text.replace("\n", "\0")
        one, other = (ends[0].text, ends[1].text) if ends else _NOBODY
        lines.append(
            f"{n} {host} {session_id}\t{msgid}\t{int(at * 1000)}\t{verb}\t{target}\t{mask}\t{account or ''}\t"
            f"{'+' if public else '-'}\t{one}\t{other}\t{rest}\t{text}\n"
        )
    return "".join(lines).encode()


def decode(line: bytes) -> JournalEntry:
    """Decode a line. Raise ValueError if `encode` did not write it."""
    fields = line.decode().split("\t", _FIELDS - 1)
    number, msgid, at_ms, command, target, source, account, public, one, other, rest, text = fields
    # Lines of earlier versions have no session.
    seq, origin, *session = number.split(" ")
    values = json.loads(rest) if rest else {}
    return JournalEntry(
        _in_a_row(int(seq)),
        msgid,
        _in_a_row(int(at_ms)),
        command,
        target,
        source,
        account,
        public == "+",
        (parse_party(one), parse_party(other)) if one else None,
        text.replace("\0", "\n"),
        values.get("tags", {}),
        values.get("channels", ()),
        values.get("params", ()),
        origin,
        values.get("to", ""),
        values.get("local", False),
        values.get("scope", ALL),
        session[0] if session else "",
    )


def _in_a_row(value: int) -> int:
    """Return the value. Raise ValueError if SQLite cannot store it."""
    if not 0 <= value < 1 << 63:
        raise ValueError(f"{value} is out of range")
    return value


class Segments:
    """Reads the segments of a journal."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def segments(self) -> list[int]:
        """Return the numbers of the existing segments in order."""
        return sorted(int(path.name.partition("-")[2]) for path in self._directory.glob("journal-*"))

    def path(self, segment: int) -> Path:
        """Return the path of a segment."""
        return self._directory / f"journal-{segment:08d}"

    def read(self, start: Position, end: Position) -> Iterator[tuple[bytes, Position]]:
        """Yield each line between two positions, and the position behind it."""
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
    """Writes the journal. One thread appends; any thread may read."""

    def __init__(self, directory: Path, *, is_synced: bool = False) -> None:
        """Open the last segment. With `is_synced`, `append` returns only after fdatasync."""
        super().__init__(directory)
        self._is_synced = is_synced
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = lock(directory)
            segment = max(self.segments(), default=1)
            self._file = self._open(segment)
            # The end of the journal; every event before it is delivered or about to be.
            self.position = Position(segment, _cut_torn_line(self._file))
        except OSError as error:
            raise NotAllowedError(f"cannot write to '{directory}': {error.strerror}") from None

    def append(self, happened: Sequence[EventFields]) -> None:
        """Append all events, or none and raise UnavailableError."""
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
        """Sync the current segment to disk; this blocks, so call it from a background thread."""
        with contextlib.suppress(OSError):
            os.fdatasync(self._file)

    def remove_before(self, segment: int) -> None:
        """Delete the segments before this one."""
        for old in self.segments():
            if old < segment:
                self.path(old).unlink(missing_ok=True)

    def begin_segment(self, segment: int | None = None) -> None:
        """Begin a new segment; keep the current one if the new file cannot be created."""
        number = self.position.segment + 1 if segment is None else segment
        with contextlib.suppress(OSError):
            file = self._open(number)
            os.close(self._file)
            self._file, self.position = file, Position(number, 0)

    def close(self) -> None:
        """Close the segment and release the lock."""
        os.close(self._file)
        os.close(self._lock)

    def _open(self, segment: int) -> int:
        return os.open(self.path(segment), os.O_CREAT | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC, FOR_THE_OWNER)


def lock(directory: Path) -> int:
    """Take the lock that keeps two writers apart: two servers, or a server and a restore."""
    held = os.open(directory / "lock", os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, FOR_THE_OWNER)
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
    """Cut off an incomplete last line, whose event was never delivered, and return the size."""
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
