"""Read the numbered events of an origin from the database, for a peer that lacks them."""

import itertools
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

from culture.names import SIGNS, Folded, fold
from culture.protocol.event_record import GENERATION_SHIFT, EventRecord
from culture.protocol.line import NO_TAGS
from culture.protocol.parties import Party, parse_party

_ROWS: Final = """
SELECT seq, at_ms, msgid, command, key, name, target, mask, account, session, is_public,
  text, tags, params, to_host, events.id
FROM events JOIN places ON places.id = place JOIN sources ON sources.id = source
WHERE origin = ? AND seq BETWEEN ? AND ? AND {} AND is_local = 0 AND is_redacted = 0
ORDER BY seq
"""
# Conversations have no name, so direct messages between users of one host are excluded.
_IN_CHANNELS: Final = _ROWS.format("to_host IS NULL AND name <> ''")
_DIRECT: Final = _ROWS.format("to_host = ?")
_RENAMES: Final = """
SELECT key, events.id, target FROM events JOIN places ON places.id = place
WHERE command = 'RENAME' AND key IN ({}) ORDER BY events.id
"""


def read_log(
    connection: sqlite3.Connection,
    origin: str,
    after: Mapping[int, int],
    most: int,
    *,
    channels: AbstractSet[Folded] | None = None,
    to: str | None = None,
) -> list[EventRecord]:
    """Return the first events after these numbers (by generation): of channels, or direct ones to a host."""
    row = connection.execute("SELECT id FROM origins WHERE host = ?", (origin,)).fetchone()
    if row is None:
        return []
    rows = itertools.chain.from_iterable(
        _rows(connection, row[0], first, last, to) for first, last in _ranges(connection, row[0], after)
    )
    names = None if channels is None else Names(connection, channels)
    return list(itertools.islice(_happenings(rows, origin, names), most))


class Names:
    """Selects the rows that were recorded while their channel had one of these names.

    A place keeps its history when it is renamed. A peer that may read a channel name gets only what was said
    under that name.
    """

    def __init__(self, connection: sqlite3.Connection, channels: AbstractSet[Folded]) -> None:
        self._channels = channels
        self._renames: dict[str, list[tuple[int, str]]] = {}
        marks = ",".join("?" * len(channels))
        for key, number, former in connection.execute(_RENAMES.format(marks), (*channels,)):
            self._renames.setdefault(key, []).append((number, former))

    def include(self, row: Sequence[Any]) -> bool:
        """Return whether the row was recorded under one of the names."""
        key, number = row[4].lstrip(SIGNS), row[15]
        if key not in self._channels:
            return False
        name = next((former for at, former in self._renames.get(key, ()) if at > number), key)
        return fold(name) in self._channels


def _ranges(
    connection: sqlite3.Connection, origin: int, after: Mapping[int, int]
) -> Iterator[tuple[int, int]]:
    query = "SELECT DISTINCT generation FROM holdings WHERE origin = ? ORDER BY generation"
    for (generation,) in connection.execute(query, (origin,)).fetchall():
        first = generation << GENERATION_SHIFT
        yield max(first, after.get(generation, -1) + 1), first + (1 << GENERATION_SHIFT) - 1


def _rows(
    connection: sqlite3.Connection, origin: int, first: int, last: int, to: str | None
) -> Iterable[tuple[Any, ...]]:
    values: tuple[object, ...] = (origin, first, last)
    if to is None:
        return connection.execute(_IN_CHANNELS, values)
    return connection.execute(_DIRECT, (*values, to))


def _happenings(rows: Iterable[tuple[Any, ...]], origin: str, names: Names | None) -> Iterator[EventRecord]:
    """Combine the rows of an event that was seen in several channels into one record."""
    for _, group in itertools.groupby(rows, key=lambda row: row[0]):
        seen = [row for row in group if names is None or names.include(row)]
        if seen:
            yield _happening(seen, origin)


def _happening(rows: Sequence[tuple[Any, ...]], origin: str) -> EventRecord:
    seq, at_ms, msgid, command, key, name, target, mask, account, session_id, public, *rest = rows[0]
    text, tags, params, to, _ = rest
    is_everywhere = command in ("QUIT", "NICK")
    happening = EventRecord(
        msgid,
        at_ms / 1000,
        command,
        "" if is_everywhere else target or name,
        mask,
        account or None,
        text,
        json.loads(tags) if tags else NO_TAGS,
        bool(public) and not is_everywhere,
        None,
        tuple((row[5], bool(row[10])) for row in rows) if is_everywhere else (),
        tuple(json.loads(params)) if params else (),
        origin,
        seq,
        to or "",
        session_id=session_id,
    )
    return happening if name else happening._replace(ends=_ends(key, happening))


def _ends(key: str, happening: EventRecord) -> tuple[Party, Party]:
    """Return author and recipient; the key of a conversation has its ends in alphabetical order."""
    one, other = map(parse_party, key.split(" "))
    return (one, other) if one == _writer(one, other, happening) else (other, one)


def _writer(one: Party, other: Party, happening: EventRecord) -> Party:
    if happening.author in (one, other):
        return happening.author
    # The author redacted a message from before the login, or the message is older than session ids.
    return other if other.host == happening.origin and one.host != happening.origin else one
