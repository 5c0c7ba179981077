"""The log of an origin: what it numbered, in that order, for a host that lacks it."""

import itertools
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

from culture.names import SIGNS, Folded, fold
from culture.protocol.happening import GENERATION_SHIFT, Happening
from culture.protocol.line import NO_TAGS

_ROWS: Final = """
SELECT seq, at_ms, msgid, command, key, name, target, mask, account, is_public, text, tags, params, to_host
FROM events JOIN places ON places.id = place JOIN sources ON sources.id = source
WHERE origin = ? AND seq BETWEEN ? AND ? AND {} AND is_local = 0 AND is_redacted = 0
ORDER BY seq
"""
_IN_CHANNELS: Final = _ROWS.format("to_host IS NULL AND name <> ''")
"""Conversations have no name: what two people of one host write to each other is nobody else's."""
_DIRECT: Final = _ROWS.format("to_host = ?")


def read_log(
    connection: sqlite3.Connection,
    origin: str,
    after: Mapping[int, int],
    most: int,
    *,
    channels: AbstractSet[Folded] | None = None,
    to: str | None = None,
) -> list[Happening]:
    """The first behind these numbers, by generation: of channels, all or some, or direct ones to a host."""
    row = connection.execute("SELECT id FROM origins WHERE host = ?", (origin,)).fetchone()
    if row is None:
        return []
    rows = itertools.chain.from_iterable(
        _rows(connection, row[0], first, last, to) for first, last in _ranges(connection, row[0], after)
    )
    return list(itertools.islice(_happenings(rows, origin, channels), most))


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


def _happenings(
    rows: Iterable[tuple[Any, ...]], origin: str, channels: AbstractSet[Folded] | None
) -> Iterator[Happening]:
    """What was seen in several channels is several rows, and happened once."""
    for _, group in itertools.groupby(rows, key=lambda row: row[0]):
        seen = [row for row in group if channels is None or row[4].lstrip(SIGNS) in channels]
        if seen:
            yield _happening(seen, origin)


def _happening(rows: Sequence[tuple[Any, ...]], origin: str) -> Happening:
    seq, at_ms, msgid, command, key, name, target, mask, account, public, text, tags, params, to = rows[0]
    is_everywhere = command in ("QUIT", "NICK")
    return Happening(
        msgid,
        at_ms / 1000,
        command,
        "" if is_everywhere else target or name,
        mask,
        account or None,
        text,
        json.loads(tags) if tags else NO_TAGS,
        bool(public) and not is_everywhere,
        None if name else _ends(key, mask, account),
        tuple((row[5], bool(row[9])) for row in rows) if is_everywhere else (),
        tuple(json.loads(params)) if params else (),
        origin,
        seq,
        to or "",
    )


def _ends(key: str, mask: str, account: str) -> tuple[str, str]:
    """Who wrote it, and for whom: a place knows its two ends only in the order of the alphabet."""
    one, _, other = key.partition(" ")
    writer = f"account:{fold(account)}" if account else f"nick:{fold(mask.partition('!')[0])}"
    return (other, one) if writer == other else (one, other)
