"""The links that were shared: who, where, when for the first and the last time, and how often."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from culture.names import Folded, fold
from culture.store.database import MIGRATIONS, prepare, reading, transaction

FILE: Final = "urls.db"
DIRECTORY: Final = "urlindex"
_SHARED: Final = """
INSERT OR IGNORE INTO shared SELECT ?, ?, ?, ?, ?, ?, ?
WHERE NOT EXISTS (SELECT 1 FROM redactions WHERE channel = ? AND msgid = ?)
"""
_FOUND: Final = """
WITH members AS MATERIALIZED (SELECT key, value AS since_ms FROM json_each(:members)),
readable AS NOT MATERIALIZED (
  SELECT channel, url, name, nick, at_ms FROM shared LEFT JOIN members ON key = channel
  WHERE CASE
    WHEN key IS NULL THEN is_public AND channel NOT IN (SELECT value FROM json_each(:closed))
    ELSE is_public OR at_ms >= since_ms
  END
),
found AS (
  SELECT channel, url, name, min(at_ms) AS first_ms, max(at_ms) AS last_ms, count(*) AS times FROM readable
  WHERE (:channel IS NULL OR channel = :channel) AND instr(lower(url), lower(:term))
  GROUP BY channel, url ORDER BY last_ms DESC LIMIT :most
)
SELECT url, name, first_ms, last_ms, times, (
  SELECT nick FROM readable
  WHERE readable.channel = found.channel AND readable.url = found.url ORDER BY at_ms LIMIT 1
) FROM found ORDER BY last_ms DESC
"""


class Shared(NamedTuple):
    url: str
    channel: str
    msgid: str
    is_public: bool
    nick: str
    at: float


class Redacted(NamedTuple):
    channel: str
    msgid: str


class Renamed(NamedTuple):
    channel: str
    name: str


class Reader(NamedTuple):
    """What somebody may read."""

    members: Mapping[Folded, float]
    """The channels that they are in, and since when there is each: what was private before is another's."""
    closed: Iterable[Folded]
    """Of the channels that are asked for, those that only others may read."""


class Link(NamedTuple):
    url: str
    channel: str
    first_ms: int
    last_ms: int
    times: int
    nick: str
    """Who shared it first."""


class Urls:
    """Every call opens the file for itself, so that any thread may use it."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE
        prepare(self._path, MIGRATIONS / "urls")

    def add(self, changes: Iterable[Shared | Redacted | Renamed]) -> None:
        with transaction(self._path) as database:
            for change in changes:
                for statement, values in _statements(change):
                    database.execute(statement, values)

    def find(self, reader: Reader, channel: str | None, term: str, most: int) -> list[Link]:
        """Newest first: of a channel or of all, with these letters in them."""
        since_ms = {key: int(since * 1000) for key, since in reader.members.items()}
        values = {
            "members": json.dumps(since_ms),
            "closed": json.dumps(list(reader.closed)),
            "channel": None if channel is None else fold(channel),
            "term": term,
            "most": most,
        }
        with reading(self._path) as database:
            return [Link(*row) for row in database.execute(_FOUND, values)]

    def prune(self, keep_days: int, channels: Mapping[Folded, int], now: float) -> int:
        """How many times that somebody shared a link are forgotten. 0 days is no bound."""
        gone = 0
        query = "DELETE FROM shared WHERE channel = ? AND at_ms < ?"
        with transaction(self._path) as database:
            for (channel,) in database.execute("SELECT DISTINCT channel FROM shared").fetchall():
                if days := channels.get(channel, keep_days):
                    since_ms = int((now - days * 86400) * 1000)
                    gone += database.execute(query, (channel, since_ms)).rowcount
        return gone


def _statements(change: Shared | Redacted | Renamed) -> list[tuple[str, tuple[object, ...]]]:
    channel = fold(change.channel)
    match change:
        case Shared(url, name, msgid, is_public, nick, at):
            values = (channel, url, msgid, is_public, name, nick, int(at * 1000))
            return [(_SHARED, (*values, channel, msgid))]
        case Redacted(_, msgid):
            return [
                ("DELETE FROM shared WHERE msgid = ? AND channel = ?", (msgid, channel)),
                ("INSERT OR IGNORE INTO redactions VALUES (?, ?)", (channel, msgid)),
            ]
        case Renamed(_, name):
            key = fold(name)
            return [
                (
                    "UPDATE OR REPLACE shared SET channel = ?, name = ? WHERE channel = ?",
                    (key, name, channel),
                ),
                ("UPDATE OR REPLACE redactions SET channel = ? WHERE channel = ?", (key, channel)),
            ]
