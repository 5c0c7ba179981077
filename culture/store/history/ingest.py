"""Ingest journal entries into the database, in order and exactly once."""

import json
import sqlite3
from collections.abc import Iterable
from typing import Final

from culture.names import SIGNS, fold
from culture.protocol.event_record import GENERATION_SHIFT, MADE_TAG, SPOKEN, latest_generation
from culture.protocol.parties import Party
from culture.store.history.holdings import scopes
from culture.store.history.indexing import unindex
from culture.store.history.journal import ALL, JournalEntry, Position, decode
from culture.store.history.row_ids import last_number

# The most cached row ids of places and sources.
CACHE: Final = 20_000
# The most former nicks stored for each end of a conversation.
MOST_NICKS: Final = 10
JOURNAL_MARK: Final = "journal"
_EVENT: Final = """
INSERT OR IGNORE INTO events
(id, place, at_ms, msgid, origin, seq, command, source, is_public, target, text, tags, params,
 to_host, is_local)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_HELD: Final = """
INSERT INTO holdings VALUES (?, ?, ?, ?)
ON CONFLICT DO UPDATE SET seq = excluded.seq WHERE excluded.seq > seq
"""
_NICK: Final = """
INSERT INTO nicks VALUES (?, ?, ?, ?)
ON CONFLICT DO UPDATE SET since_ms = max(since_ms, excluded.since_ms)
"""
# One row per user and lifetime of a channel. Earlier joins on other hosts may arrive later.
_SEAT: Final = """
INSERT OR IGNORE INTO seats SELECT :place, :end, :at_ms WHERE NOT EXISTS (
  SELECT 1 FROM seats WHERE place = :place AND end = :end AND joined_at_ms BETWEEN
  (SELECT coalesce(max(since_ms), 0) FROM lives WHERE place = :place AND since_ms <= :at_ms) AND :at_ms
)
"""
_FORGET_NICKS: Final = f"""
DELETE FROM nicks WHERE place = :place AND end = :end AND nick NOT IN (
  SELECT nick FROM nicks WHERE place = :place AND end = :end ORDER BY since_ms DESC, nick LIMIT {MOST_NICKS}
)
"""

Row = tuple[
    int, int, str, int, int, str, int, bool, str | None, str, str | None, str | None, str | None, bool
]


def filed_position(connection: sqlite3.Connection) -> Position:
    """Return the journal position up to which entries are ingested."""
    row = connection.execute("SELECT segment, position FROM marks WHERE name = ?", (JOURNAL_MARK,)).fetchone()
    return Position(*row) if row else Position(0, 0)


class Ingest:
    """Writes journal entries and caches row ids. The caller opens the transactions."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._places: dict[str, int] = {}
        # Key: mask, account and session id.
        self._sources: dict[tuple[str, str, str], int] = {}
        self._origins: dict[str, int] = {}
        # Watermarks by origin, scope and generation that are not written yet.
        self._held: dict[tuple[int, str, int], int] = {}
        # The last nicks of the two ends of a conversation.
        self._talks: dict[int, tuple[str, str]] = {}

    def forget(self) -> None:
        """Clear the caches after a rollback, because their row ids may not exist."""
        for cache in (self._places, self._sources, self._origins, self._talks, self._held):
            cache.clear()

    def begin_generation(self, least: int) -> int:
        """Return a generation that no event has yet, at least `least`, and reserve it."""
        origin = self._origin("")
        # Peers return events that we lost; ignore implausible generations that they may have made up.
        query = "SELECT max(generation) FROM holdings WHERE origin = ? AND generation <= ?"
        (last,) = self._connection.execute(query, (origin, latest_generation(least))).fetchone()
        generation = max(least, -1 if last is None else last + 1)
        self._connection.execute(_HELD, (origin, ALL, generation, generation << GENERATION_SHIFT))
        return generation

    def file(self, lines: Iterable[tuple[bytes, Position]]) -> tuple[Position | None, int]:
        """Ingest lines; return the position behind the last one and the number of unreadable lines."""
        rows: list[Row] = []
        filed: list[tuple[int, JournalEntry]] = []
        position, flaws = None, 0
        first = last_number(self._connection) + 1
        self._bound_caches()
        for line, end in lines:
            position = end
            try:
                entry = decode(line)
                made = self._rows(entry, first + len(rows))
            except ValueError:
                flaws += 1
                continue
            rows += made
            filed.append((made[0][0], entry))
        self._connection.executemany(_EVENT, ((number, *row) for number, row in enumerate(rows, first)))
        self._forget_redacted(filed)
        self._connection.executemany(_HELD, [(*key, seq) for key, seq in self._held.items()])
        self._held.clear()
        if position is not None:
            mark = (JOURNAL_MARK, *position)
            self._connection.execute("INSERT OR REPLACE INTO marks VALUES (?, ?, ?)", mark)
        return position, flaws

    def _rows(self, entry: JournalEntry, number: int) -> list[Row]:
        """Return the rows of an entry, of which the first one gets this number."""
        source, origin = self._source(entry), self._origin(entry.origin)
        self._hold(origin, entry)
        rest = (
            entry.text,
            _json(entry.tags) if entry.tags else None,
            _json(entry.params) if entry.params else None,
            entry.to or None,
            entry.is_local,
        )
        where: list[tuple[int, bool, str | None]]
        if entry.channels:
            where = [(self._place(name), public, None) for name, public in entry.channels]
        elif entry.ends is not None:
            where = [(self._conversation(entry, entry.ends), False, entry.target)]
        else:
            where = [(self._place(entry.target), entry.is_public, None)]
        if entry.command == "JOIN":
            self._seat(where[0][0], entry)
        elif entry.command == "RENAME":
            # The place gets another name, so store the old one with the event.
            where = [(place, public, entry.target) for place, public, _ in where]
            self._rename(where[0][0], entry, number)
        head = (entry.at_ms, entry.id, origin, entry.seq, entry.command, source)
        return [(place, *head, public, target, *rest) for place, public, target in where]

    def _place(self, name: str) -> int:
        key = fold(name)
        number = self._places.get(key)
        if number is None:
            number = self._places[key] = self._number("places", "key, name", (key, name), "key = ?", (key,))
        return number

    def _conversation(self, entry: JournalEntry, parties: tuple[Party, Party]) -> int:
        ends = [party.text for party in parties]
        key = " ".join(sorted(ends))
        number = self._places.get(key)
        if number is None:
            number = self._places[key] = self._number("places", "key, name", (key, ""), "key = ?", (key,))
        nicks = (entry.source.partition("!")[0], entry.target)
        if self._talks.get(number) not in (nicks, nicks[::-1]):
            self._talks[number] = nicks
            for end, nick in zip(ends, nicks, strict=True):
                self._connection.execute("INSERT OR REPLACE INTO ends VALUES (?, ?, ?)", (end, number, nick))
                self._connection.execute(_NICK, (number, end, fold(nick), entry.at_ms))
                self._connection.execute(_FORGET_NICKS, {"place": number, "end": end})
        return number

    def _source(self, entry: JournalEntry) -> int:
        key = (entry.source, entry.account, entry.session_id)
        number = self._sources.get(key)
        if number is None:
            match = "mask = ? AND account = ? AND session = ?"
            number = self._number("sources", "mask, account, session", key, match, key)
            self._sources[key] = number
        return number

    def _origin(self, host: str) -> int:
        number = self._origins.get(host)
        if number is None:
            number = self._number("origins", "host", (host,), "host = ?", (host,))
            self._origins[host] = number
        return number

    def _hold(self, origin: int, entry: JournalEntry) -> None:
        for scope in scopes(entry):
            key = (origin, scope, entry.seq >> GENERATION_SHIFT)
            self._held[key] = max(entry.seq, self._held.get(key, 0))

    def _seat(self, place: int, entry: JournalEntry) -> None:
        if MADE_TAG in entry.tags:
            self._begin_life(place, entry.at_ms)
        self._connection.execute(_SEAT, {"place": place, "end": entry.author.text, "at_ms": entry.at_ms})

    def _begin_life(self, place: int, at_ms: int) -> None:
        self._connection.execute("INSERT OR IGNORE INTO lives VALUES (?, ?)", (place, at_ms))

    def _rename(self, place: int, entry: JournalEntry, number: int) -> None:
        """Move the messages of a renamed channel, unless another channel had the new name before."""
        self._move(place, entry)
        if entry.origin:
            # When it was is what that host says. Nobody is to read more by it than they did before.
            for sign in ("", *SIGNS):
                query = "INSERT OR REPLACE INTO renamed SELECT id, ? FROM places WHERE key = ?"
                self._connection.execute(query, (number, fold(sign + entry.params[0])))

    def _move(self, place: int, entry: JournalEntry) -> None:
        (name,) = entry.params
        changed = self._connection.execute(
            "UPDATE OR IGNORE places SET key = ?, name = ? WHERE id = ?", (fold(name), name, place)
        )
        if not changed.rowcount:
            self._begin_life(self._place(name), entry.at_ms)
            return
        self._places.pop(fold(entry.target), None)
        # And what was said to its operators alone, or its voices.
        for sign in SIGNS:
            names = (fold(sign + name), sign + name, fold(sign + entry.target))
            query = "UPDATE OR IGNORE places SET key = ?, name = ? WHERE key = ?"
            self._connection.execute(query, names)
            self._places.pop(names[-1], None)

    def _forget_redacted(self, filed: Iterable[tuple[int, JournalEntry]]) -> None:
        for place, entry in filed:
            # A direct message is taken back by who wrote it, so that its host says so and no other.
            by = None if entry.ends is None else self._origin(entry.origin)
            if entry.command == "REDACT":
                self._redact(place, entry.params[0], by)
            elif entry.origin and entry.command in SPOKEN and self._is_redacted(place, entry.id, by):
                # Between hosts there is no order: one told of it before another told what was said.
                self._redact(place, entry.id, by)

    def _is_redacted(self, place: int, msgid: str, by: int | None) -> bool:
        query = """
        SELECT 1 FROM events
        WHERE command = 'REDACT' AND params = ? AND place = ? AND +origin = coalesce(?, origin)
        """
        return self._connection.execute(query, (_json([msgid]), place, by)).fetchone() is not None

    def _redact(self, place: int, msgid: str, by: int | None) -> None:
        """History forgets the words. That there were some stays: others number their events by it."""
        query = """
        SELECT id FROM events
        WHERE msgid = ? AND +place = ? AND +origin = coalesce(?, origin) AND is_redacted = 0
        """
        for (number,) in self._connection.execute(query, (msgid, place, by)).fetchall():
            unindex(self._connection, [number])
            self._connection.execute(
                "UPDATE events SET text = '', tags = NULL, is_redacted = 1 WHERE id = ?", (number,)
            )

    def _number(
        self, table: str, columns: str, values: tuple[object, ...], match: str, key: tuple[object, ...]
    ) -> int:
        row = self._connection.execute(f"SELECT id FROM {table} WHERE {match}", key).fetchone()
        if row is None:
            marks = ", ".join("?" * len(values))
            row = self._connection.execute(
                f"INSERT INTO {table} ({columns}) VALUES ({marks}) RETURNING id", values
            ).fetchone()
        return int(row[0])

    def _bound_caches(self) -> None:
        for cache in (self._places, self._sources, self._talks):
            if len(cache) > CACHE:
                cache.clear()


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
