"""The links that were shared: who, where, when for the first and the last time, and how often."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from culture.names import fold
from culture.store.database import MIGRATIONS, prepare, reading, transaction

FILE: Final = "urls.db"
_SHARED: Final = """
INSERT INTO urls VALUES (?, ?, ?, ?, ?, ?, ?, 1) ON CONFLICT DO UPDATE SET
first_ms = min(first_ms, excluded.first_ms), last_ms = max(last_ms, excluded.last_ms), times = times + 1
"""


class Shared(NamedTuple):
    url: str
    channel: str
    is_public: bool
    nick: str
    at: float


class Link(NamedTuple):
    url: str
    channel: str
    """Folded."""
    is_public: bool
    name: str
    nick: str
    first_ms: int
    last_ms: int
    times: int


class Urls:
    """Every call opens the file for itself, so that any thread may use it."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE
        prepare(self._path, MIGRATIONS / "urls")

    def add(self, shared: Sequence[Shared]) -> None:
        with transaction(self._path) as database:
            database.executemany(_SHARED, [_row(each) for each in shared])

    def find(self, channel: str | None, term: str) -> list[Link]:
        """Newest first: of a channel or of all, with these letters in them."""
        query = """
        SELECT url, channel, is_public, name, nick, first_ms, last_ms, times FROM urls
        WHERE (?1 IS NULL OR channel = ?1) AND instr(lower(url), lower(?2)) ORDER BY last_ms DESC
        """
        with reading(self._path) as database:
            database.row_factory = lambda _, row: Link(*row)
            return list(database.execute(query, (None if channel is None else fold(channel), term)))


def _row(shared: Shared) -> tuple[str, str, bool, str, str, int, int]:
    at_ms = int(shared.at * 1000)
    return (shared.url, fold(shared.channel), shared.is_public, shared.channel, shared.nick, at_ms, at_ms)
