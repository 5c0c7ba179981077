"""A log of channel messages for programs on networks without CHATHISTORY, and the channels they are in."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from culture.errors import UnavailableError
from culture.names import fold
from culture.store.database import BUSY_S, MIGRATIONS, prepare

# Messages kept per channel; older ones are deleted.
KEPT_MESSAGES: Final = 10_000
_TRIM_EVERY: Final = 500


class ChannelLog:
    """Messages and channels in one SQLite file, used by one connection of one thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        prepare(path, MIGRATIONS / "channel_log")
        with self._reported():
            self._connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
            self._connection.execute("PRAGMA synchronous = NORMAL")
        self._appended = 0

    def append(self, channel: str, sender: str, text: str, time_ms: int, msgid: str) -> None:
        """Add a message."""
        row = (fold(channel), sender, text, time_ms, msgid)
        with self._reported():
            self._connection.execute(
                "INSERT INTO messages (channel, sender, text, time_ms, msgid) VALUES (?, ?, ?, ?, ?)", row
            )
            self._appended += 1
            if self._appended % _TRIM_EVERY == 0:
                self._trim(fold(channel))

    def newest(self, channel: str, since_ms: int | None, limit: int) -> list[tuple[str, str, int, str]]:
        """Return sender, text, time and msgid of the newest messages after a time, the newest first."""
        with self._reported():
            return self._connection.execute(
                "SELECT sender, text, time_ms, msgid FROM messages WHERE channel = ? AND time_ms > ?"
                " ORDER BY number DESC LIMIT ?",
                (fold(channel), -1 if since_ms is None else since_ms, limit),
            ).fetchall()

    def channels(self) -> list[str]:
        """Return the channels to join again after a restart."""
        with self._reported():
            rows = self._connection.execute("SELECT name FROM channels ORDER BY folded")
            return [name for (name,) in rows]

    def add_channel(self, name: str) -> None:
        """Remember a channel."""
        with self._reported():
            self._connection.execute("INSERT OR IGNORE INTO channels VALUES (?, ?)", (name, fold(name)))

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _trim(self, channel: str) -> None:
        self._connection.execute(
            "DELETE FROM messages WHERE channel = ?1 AND number <= (SELECT number FROM messages"
            " WHERE channel = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)",
            (channel, KEPT_MESSAGES),
        )

    @contextlib.contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise UnavailableError(f"cannot use '{self._path}': {error}") from None
