"""Index of the log files of the logger skill: which line is which message, and pending redactions."""

from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Final, NamedTuple

from culture.names import fold
from culture.store.database import MIGRATIONS, prepare, reading, transaction

FILE: Final = "lines.db"


class Written(NamedTuple):
    """A message was written to a log file."""

    channel: str
    msgid: str
    file: str
    # Identifies the line, wherever in the file it is.
    digest: bytes


class LogLineRedacted(NamedTuple):
    """A message was redacted."""

    channel: str
    msgid: str
    # Replaces the message in the file.
    text: str


class LogChannelRenamed(NamedTuple):
    """A channel was renamed."""

    channel: str
    name: str


class PendingRedaction(NamedTuple):
    """A redacted message that is still in its file."""

    channel: str
    msgid: str
    file: str
    text: str
    digests: frozenset[bytes]


class LogLines:
    """The index. Each call opens the file, so any thread may use it."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE
        prepare(self._path, MIGRATIONS / "loglines")

    def add(self, changes: Iterable[Written | LogLineRedacted | LogChannelRenamed]) -> None:
        """Record changes. Adding the same change again has no effect."""
        with transaction(self._path) as database:
            for change in changes:
                for statement, values in _statements(change):
                    database.execute(statement, values)

    def due(self) -> list[PendingRedaction]:
        """Return the redacted messages that are still in a file."""
        # CROSS JOIN makes SQLite begin with the few redactions instead of all lines.
        query = """
        SELECT channel, msgid, file, text, digest FROM redactions CROSS JOIN lines USING (channel, msgid)
        """
        with reading(self._path) as database:
            rows = sorted(database.execute(query))
        return [
            PendingRedaction(channel, msgid, file, text, frozenset(row[4] for row in some))
            for (channel, msgid, file, text), some in groupby(rows, key=itemgetter(0, 1, 2, 3))
        ]

    def done(self, due: PendingRedaction) -> None:
        """Forget a message that was removed from its file."""
        with transaction(self._path) as database:
            database.execute("DELETE FROM lines WHERE channel = ? AND msgid = ?", (due.channel, due.msgid))


def _statements(
    change: Written | LogLineRedacted | LogChannelRenamed,
) -> list[tuple[str, tuple[object, ...]]]:
    channel = fold(change.channel)
    match change:
        case Written(_, msgid, file, digest):
            return [("INSERT OR IGNORE INTO lines VALUES (?, ?, ?, ?)", (channel, msgid, file, digest))]
        case LogLineRedacted(_, msgid, text):
            return [("INSERT OR IGNORE INTO redactions VALUES (?, ?, ?)", (channel, msgid, text))]
        case LogChannelRenamed(_, name):
            return [
                (f"UPDATE OR IGNORE {table} SET channel = ? WHERE channel = ?", (fold(name), channel))
                for table in ("lines", "redactions")
            ]
