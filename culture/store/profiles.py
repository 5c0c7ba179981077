"""What accounts have read, and what they publish of themselves."""

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


class Read(NamedTuple):
    account: str
    target: str
    timestamp: str


class Published(NamedTuple):
    account: str
    key: str
    value: str | None


class Renamed(NamedTuple):
    channel: str
    name: str


class Profiles:
    """Every call opens the file for itself, so that any thread may use it."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE
        prepare(self._path, MIGRATIONS / "profiles")

    def add(self, changes: Iterable[Read | Published | Renamed]) -> None:
        with transaction(self._path) as database:
            for change in changes:
                database.execute(*_statement(change))

    def markers(self) -> OfAccounts:
        """By account and target, those that were moved last at the end."""
        return self._all("SELECT account, target, timestamp FROM markers ORDER BY timestamp")

    def metadata(self) -> OfAccounts:
        return self._all("SELECT account, key, value FROM metadata")

    def _all(self, query: str) -> OfAccounts:
        found: OfAccounts = {}
        with reading(self._path) as database:
            for account, name, value in database.execute(query):
                found.setdefault(account, {})[name] = value
        return found


def _statement(change: Read | Published | Renamed) -> tuple[str, tuple[str | None, ...]]:
    match change:
        case Read(account, target, timestamp):
            return "INSERT OR REPLACE INTO markers VALUES (?, ?, ?)", (fold(account), fold(target), timestamp)
        case Published(account, key, None):
            return "DELETE FROM metadata WHERE account = ? AND key = ?", (fold(account), key)
        case Published(account, key, value):
            return "INSERT OR REPLACE INTO metadata VALUES (?, ?, ?)", (fold(account), key, value)
        case Renamed(channel, name):
            return _RENAMED, (fold(name), fold(channel))
