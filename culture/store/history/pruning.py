"""Delete old events by age or number, in small slices."""

import sqlite3
import time
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from culture.names import SIGNS, Folded
from culture.store.history.indexing import SPEECH
from culture.store.history.row_ids import remove

SLICE: Final = 500
# Pause between two slices, so that the server can write.
REST_S: Final = 0.01


class RetentionRule(NamedTuple):
    """How much of a channel to keep; 0 means no limit."""

    keep_days: int = 0
    keep_messages: int = 0


def prune(
    connection: sqlite3.Connection,
    usual: RetentionRule,
    channels: Mapping[Folded, RetentionRule],
    now: float,
    rest: Callable[[], None] = lambda: time.sleep(REST_S),
) -> int:
    """Delete events beyond the rules; return how many. Readers keep their snapshot and do not wait."""
    gone = 0
    for place, key in connection.execute("SELECT id, key FROM places").fetchall():
        rule = channels.get(key.lstrip(SIGNS), usual)
        bounds = [_bound_of_age(rule, now), _bound_of_number(connection, place, rule)]
        gone += _remove_before(connection, place, max(bounds), rest)
    return gone


def _bound_of_age(rule: RetentionRule, now: float) -> tuple[int, int]:
    """Return time and row id of the first event to keep."""
    return (int((now - rule.keep_days * 86400) * 1000), 0) if rule.keep_days else (0, 0)


def _bound_of_number(connection: sqlite3.Connection, place: int, rule: RetentionRule) -> tuple[int, int]:
    if not rule.keep_messages:
        return (0, 0)
    query = f"""
    SELECT at_ms, id FROM events WHERE place = ? AND command IN {SPEECH}
    ORDER BY at_ms DESC, id DESC LIMIT 1 OFFSET ?
    """
    return connection.execute(query, (place, rule.keep_messages - 1)).fetchone() or (0, 0)


def _remove_before(
    connection: sqlite3.Connection, place: int, bound: tuple[int, int], rest: Callable[[], None]
) -> int:
    query = """
    SELECT id FROM events WHERE place = ? AND at_ms <= ? AND (at_ms, id) < (?, ?) ORDER BY at_ms LIMIT ?
    """
    gone = 0
    while True:
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            rows = connection.execute(query, (place, bound[0], *bound, SLICE)).fetchall()
            found = [number for (number,) in rows]
            if found:
                remove(connection, found)
        gone += len(found)
        if len(found) < SLICE:
            return gone
        rest()
