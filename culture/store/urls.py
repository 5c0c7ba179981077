"""Database of the URLs shared in channels."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from culture.names import Folded, fold
from culture.store.database import MIGRATIONS, prepare, reading, transaction

FILE: Final = "urls.db"
DIRECTORY: Final = "urlindex"
_SHARED: Final = """
INSERT OR IGNORE INTO shared SELECT ?, ?, ?, ?, ?, ?, ?, 0
WHERE NOT EXISTS (SELECT 1 FROM redactions WHERE channel = ? AND msgid = ?)
"""
_FOUND: Final = """
WITH members AS MATERIALIZED (SELECT key, value AS since_ms FROM json_each(:members)),
readable AS NOT MATERIALIZED (
  SELECT channel, url, name, nick, at_ms FROM shared LEFT JOIN members ON key = channel
  WHERE CASE
    WHEN key IS NULL THEN :is_for_all AND is_public AND channel NOT IN (SELECT value FROM json_each(:closed))
    ELSE is_public OR (NOT is_past AND at_ms >= since_ms)
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
    """Somebody shared a URL in a channel."""

    url: str
    channel: str
    msgid: str
    is_public: bool
    nick: str
    at: float


class UrlRedacted(NamedTuple):
    """A message was redacted."""

    channel: str
    msgid: str


class UrlChannelRenamed(NamedTuple):
    """A channel was renamed."""

    channel: str
    name: str
    # Another host renamed it. Its word opens no private URLs to the members of the new channel.
    by_other_host: bool = False


class Reader(NamedTuple):
    """The read permissions of a user."""

    # The channels of the user and when each was created. Earlier private URLs belong to a previous channel.
    members: Mapping[Folded, float]
    # Channels that the user may not read.
    closed: Iterable[Folded]
    # Whether only members may read any channel.
    is_for_members: bool = False


class SharedUrl(NamedTuple):
    """A URL in a channel with its first and last time."""

    url: str
    channel: str
    first_ms: int
    last_ms: int
    times: int
    # The nick that shared it first.
    nick: str


class Urls:
    """The database. Each call opens the file, so any thread may use it."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE
        prepare(self._path, MIGRATIONS / "urls")

    def add(self, changes: Iterable[Shared | UrlRedacted | UrlChannelRenamed]) -> None:
        """Write changes in one transaction."""
        with transaction(self._path) as database:
            for change in changes:
                for statement, values in _statements(change):
                    database.execute(statement, values)

    def find(self, reader: Reader, channel: str | None, term: str, most: int) -> list[SharedUrl]:
        """Return the URLs that contain `term`, in one channel or all, newest first."""
        since_ms = {key: int(since * 1000) for key, since in reader.members.items()}
        values = {
            "members": json.dumps(since_ms),
            "closed": json.dumps(list(reader.closed)),
            "is_for_all": not reader.is_for_members,
            "channel": None if channel is None else fold(channel),
            "term": term,
            "most": most,
        }
        with reading(self._path) as database:
            return [SharedUrl(*row) for row in database.execute(_FOUND, values)]

    def prune(self, keep_days: int, channels: Mapping[Folded, int], now: float) -> int:
        """Delete old entries and return how many. 0 days means no limit."""
        gone = 0
        query = "DELETE FROM shared WHERE channel = ? AND at_ms < ?"
        with transaction(self._path) as database:
            for (channel,) in database.execute("SELECT DISTINCT channel FROM shared").fetchall():
                if days := channels.get(channel, keep_days):
                    since_ms = int((now - days * 86400) * 1000)
                    gone += database.execute(query, (channel, since_ms)).rowcount
        return gone


def _statements(change: Shared | UrlRedacted | UrlChannelRenamed) -> list[tuple[str, tuple[object, ...]]]:
    channel = fold(change.channel)
    match change:
        case Shared(url, name, msgid, is_public, nick, at):
            values = (channel, url, msgid, is_public, name, nick, int(at * 1000))
            return [(_SHARED, (*values, channel, msgid))]
        case UrlRedacted(_, msgid):
            return [
                ("DELETE FROM shared WHERE msgid = ? AND channel = ?", (msgid, channel)),
                ("INSERT OR IGNORE INTO redactions VALUES (?, ?)", (channel, msgid)),
            ]
        case UrlChannelRenamed(_, name, by_other_host):
            key = fold(name)
            past = "UPDATE shared SET is_past = 1 WHERE channel IN (?, ?) AND NOT is_public"
            return [
                *([(past, (key, channel))] if by_other_host else []),
                (
                    "UPDATE OR REPLACE shared SET channel = ?, name = ? WHERE channel = ?",
                    (key, name, channel),
                ),
                ("UPDATE OR REPLACE redactions SET channel = ? WHERE channel = ?", (key, channel)),
            ]
