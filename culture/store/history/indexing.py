"""The full-text index (FTS5, contentless), filled incrementally by a background thread."""

import sqlite3
from collections.abc import Iterable
from typing import Final

from culture.names import fold

WORDS_MARK: Final = "words"
SPEECH: Final = ("PRIVMSG", "NOTICE")
_INSERT: Final = "INSERT INTO words (rowid, text, about) VALUES (?, ?, ?)"
_DELETE: Final = "INSERT INTO words (words, rowid, text, about) VALUES ('delete', ?, ?, ?)"
_HAS: Final = "SELECT 1 FROM words WHERE rowid = ?"
_TEXTS: Final = """
SELECT events.id, text, place, mask, command, is_redacted
FROM events JOIN sources ON sources.id = source WHERE events.id {} ORDER BY events.id
"""

_Row = tuple[int, str, int, str, str, int]


def place_word(place: int) -> str:
    """Return the index term for a place."""
    return f"p{place}"


def sender_word(nick: str) -> str:
    """Return the index term for a sender, hex-encoded so that the tokenizer keeps it whole."""
    return f"n{fold(nick).encode().hex()}"


def indexed_up_to(connection: sqlite3.Connection) -> int:
    """Return the row id of the last indexed event."""
    row = connection.execute("SELECT position FROM marks WHERE name = ?", (WORDS_MARK,)).fetchone()
    return int(row[0]) if row else 0


def index(connection: sqlite3.Connection, most: int) -> int:
    """Index up to `most` more events inside the caller's transaction; return how many."""
    query = _TEXTS.format("> ?") + " LIMIT ?"
    rows: list[_Row] = connection.execute(query, (indexed_up_to(connection), most)).fetchall()
    if rows:
        connection.executemany(_INSERT, _words(rows))
        mark = (WORDS_MARK, 0, rows[-1][0])
        connection.execute("INSERT OR REPLACE INTO marks VALUES (?, ?, ?)", mark)
    return len(rows)


def unindex(connection: sqlite3.Connection, events: Iterable[int]) -> None:
    """Remove events from the index. Call it before their texts are deleted, which FTS5 needs for this."""
    for event in events:
        # Removing an event that is not in the index would damage it.
        if connection.execute(_HAS, (event,)).fetchone():
            rows: list[_Row] = connection.execute(_TEXTS.format("= ?"), (event,)).fetchall()
            connection.executemany(_DELETE, _words(rows))


def _words(rows: Iterable[_Row]) -> list[tuple[int, str, str]]:
    return [
        (event, text, f"{place_word(place)} {sender_word(mask.partition('!')[0])}")
        for event, text, place, mask, command, is_redacted in rows
        if command in SPEECH and not is_redacted
    ]
