"""The full-text index: behind the traffic, resumed where it stopped, and without a text of its own."""

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
    return f"p{place}"


def sender_word(nick: str) -> str:
    """One word, whatever a tokenizer thinks of the nick."""
    return f"n{fold(nick).encode().hex()}"


def indexed_up_to(connection: sqlite3.Connection) -> int:
    row = connection.execute("SELECT position FROM marks WHERE name = ?", (WORDS_MARK,)).fetchone()
    return int(row[0]) if row else 0


def index(connection: sqlite3.Connection, most: int) -> int:
    """How many of the events that are not in the index yet were seen to, inside the caller's transaction."""
    query = _TEXTS.format("> ?") + " LIMIT ?"
    rows: list[_Row] = connection.execute(query, (indexed_up_to(connection), most)).fetchall()
    if rows:
        connection.executemany(_INSERT, _words(rows))
        mark = (WORDS_MARK, 0, rows[-1][0])
        connection.execute("INSERT OR REPLACE INTO marks VALUES (?, ?, ?)", mark)
    return len(rows)


def unindex(connection: sqlite3.Connection, events: Iterable[int]) -> None:
    """To be called while the texts are still there: the index is told what to take out."""
    for event in events:
        # To take out what is not in it would damage it.
        if connection.execute(_HAS, (event,)).fetchone():
            rows: list[_Row] = connection.execute(_TEXTS.format("= ?"), (event,)).fetchall()
            connection.executemany(_DELETE, _words(rows))


def _words(rows: Iterable[_Row]) -> list[tuple[int, str, str]]:
    return [
        (event, text, f"{place_word(place)} {sender_word(mask.partition('!')[0])}")
        for event, text, place, mask, command, is_redacted in rows
        if command in SPEECH and not is_redacted
    ]
