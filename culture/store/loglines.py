"""Which lines of log files are which message, and which of them were redacted."""

from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Final, NamedTuple

from culture.names import fold
from culture.store.database import MIGRATIONS, prepare, reading, transaction

FILE: Final = "lines.db"


class Written(NamedTuple):
    channel: str
    msgid: str
    file: str
    digest: bytes
    """The line is known by it, wherever in the file it is."""


class Redacted(NamedTuple):
    channel: str
    msgid: str
    text: str
    """What the file is to say instead."""


class Renamed(NamedTuple):
    channel: str
    name: str


class Due(NamedTuple):
    """A message that is still in its file, and is not to be."""

    channel: str
    msgid: str
    file: str
    text: str
    digests: frozenset[bytes]


class LogLines:
    """Every call opens the file for itself, so that any thread may use it."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE
        prepare(self._path, MIGRATIONS / "loglines")

    def add(self, changes: Iterable[Written | Redacted | Renamed]) -> None:
        """Adding the same again changes nothing."""
        with transaction(self._path) as database:
            for change in changes:
                for statement, values in _statements(change):
                    database.execute(statement, values)

    def due(self) -> list[Due]:
        # CROSS: of redactions there are few, and SQLite would look at every line.
        query = """
        SELECT channel, msgid, file, text, digest FROM redactions CROSS JOIN lines USING (channel, msgid)
        """
        with reading(self._path) as database:
            rows = sorted(database.execute(query))
        return [
            Due(channel, msgid, file, text, frozenset(row[4] for row in some))
            for (channel, msgid, file, text), some in groupby(rows, key=itemgetter(0, 1, 2, 3))
        ]

    def done(self, due: Due) -> None:
        with transaction(self._path) as database:
            database.execute("DELETE FROM lines WHERE channel = ? AND msgid = ?", (due.channel, due.msgid))


def _statements(change: Written | Redacted | Renamed) -> list[tuple[str, tuple[object, ...]]]:
    channel = fold(change.channel)
    match change:
        case Written(_, msgid, file, digest):
            return [("INSERT OR IGNORE INTO lines VALUES (?, ?, ?, ?)", (channel, msgid, file, digest))]
        case Redacted(_, msgid, text):
            return [("INSERT OR IGNORE INTO redactions VALUES (?, ?, ?)", (channel, msgid, text))]
        case Renamed(_, name):
            return [
                (f"UPDATE OR IGNORE {table} SET channel = ? WHERE channel = ?", (fold(name), channel))
                for table in ("lines", "redactions")
            ]
