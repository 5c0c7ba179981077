"""Database of the read markers and metadata of accounts."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from culture.names import Folded, fold
from culture.store.database import MIGRATIONS, prepare, reading, transaction

FILE: Final = "profiles.db"
_RENAMED: Final = """
INSERT INTO markers SELECT account, ?, timestamp FROM markers WHERE target = ?
ON CONFLICT DO UPDATE SET timestamp = max(timestamp, excluded.timestamp)
"""

OfAccounts = dict[Folded, dict[str, str]]


class MarkerMovedTo(NamedTuple):
    """An account moved a read marker."""

    account: str
    target: str
    timestamp: str


class Published(NamedTuple):
    """An account set a metadata key, or removed it (None)."""

    account: str
    key: str
    value: str | None


class ProfileChannelRenamed(NamedTuple):
    """A channel was renamed."""

    channel: str
    name: str


class Profiles:
    """The database. Each call opens the file, so any thread may use it."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE
        prepare(self._path, MIGRATIONS / "profiles")

    def add(self, changes: Iterable[MarkerMovedTo | Published | ProfileChannelRenamed]) -> None:
        """Write changes in one transaction."""
        with transaction(self._path) as database:
            for change in changes:
                database.execute(*_statement(change))

    def markers(self) -> OfAccounts:
        """Return the read markers by account and target, the last moved at the end."""
        return self._all("SELECT account, target, timestamp FROM markers ORDER BY timestamp")

    def metadata(self) -> OfAccounts:
        """Return the metadata by account and key."""
        return self._all("SELECT account, key, value FROM metadata")

    def _all(self, query: str) -> OfAccounts:
        found: OfAccounts = {}
        with reading(self._path) as database:
            for account, name, value in database.execute(query):
                found.setdefault(account, {})[name] = value
        return found


def _statement(
    change: MarkerMovedTo | Published | ProfileChannelRenamed,
) -> tuple[str, tuple[str | None, ...]]:
    match change:
        case MarkerMovedTo(account, target, timestamp):
            return "INSERT OR REPLACE INTO markers VALUES (?, ?, ?)", (fold(account), fold(target), timestamp)
        case Published(account, key, None):
            return "DELETE FROM metadata WHERE account = ? AND key = ?", (fold(account), key)
        case Published(account, key, value):
            return "INSERT OR REPLACE INTO metadata VALUES (?, ?, ?)", (fold(account), key, value)
        case ProfileChannelRenamed(channel, name):
            return _RENAMED, (fold(name), fold(channel))
