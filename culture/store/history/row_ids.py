"""Row ids of events: never reused, because the full-text and vector indexes refer to them."""

import sqlite3
from collections.abc import Sequence
from typing import Final

from culture.store.history.indexing import unindex

NUMBERS_MARK: Final = "numbers"
_LAST: Final = f"""
SELECT max(
  coalesce((SELECT max(id) FROM events), 0),
  coalesce((SELECT position FROM marks WHERE name = '{NUMBERS_MARK}'), 0)
)
"""


def last_number(connection: sqlite3.Connection) -> int:
    """Return the highest row id that any event has or had."""
    (number,) = connection.execute(_LAST).fetchone()
    return int(number)


def remove(connection: sqlite3.Connection, events: Sequence[int]) -> None:
    """Delete events and their index entries inside the caller's transaction, but do not free their ids."""
    mark = (NUMBERS_MARK, 0, last_number(connection))
    connection.execute("INSERT OR REPLACE INTO marks VALUES (?, ?, ?)", mark)
    unindex(connection, events)
    connection.executemany("DELETE FROM events WHERE id = ?", [(event,) for event in events])
