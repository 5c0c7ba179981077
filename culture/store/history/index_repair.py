"""Check and rebuild the full-text index."""

import sqlite3
from typing import Final

from culture.store.corruption import is_damage
from culture.store.history.indexing import SPEECH, WORDS_MARK, indexed_up_to, place_word

_OF_INDEX: Final = "(name = 'words' OR name GLOB 'words_*')"
_MESSAGES: Final = f"SELECT id FROM events WHERE command IN {SPEECH} AND NOT is_redacted AND id <= :mark"
_INDEXED: Final = "SELECT id FROM words_docsize"
_FOUND: Final = "SELECT rowid FROM words WHERE words MATCH :about"


def flaws_of_index(connection: sqlite3.Connection) -> list[str]:
    """Return the problems of the index: damage, missing messages, and entries of deleted messages."""
    try:
        # This blocks other writers, about a second for a million messages.
        connection.execute("INSERT INTO words (words) VALUES ('integrity-check')")
        # Read everything in one snapshot.
        connection.execute("BEGIN")
        mark = indexed_up_to(connection)
        lacking = _count(connection, f"{_MESSAGES} EXCEPT {_INDEXED}", mark=mark)
        unknown = _count(connection, f"{_INDEXED} EXCEPT {_MESSAGES}", mark=mark)
        # A message that the index lists may still not be found by a search.
        missed = f"{_MESSAGES} AND place = :place EXCEPT {_FOUND}"
        places = [place for (place,) in connection.execute("SELECT id FROM places")]
        not_found = [
            _count(connection, missed, mark=mark, about=f"about : {place_word(place)}", place=place)
            for place in places
        ]
    except sqlite3.DatabaseError as error:
        if not may_be_of_index(error):
            raise
        return ["the full-text index is damaged"]
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    counts = {"lacks {} messages": max(lacking, sum(not_found)), "has {} messages that are gone": unknown}
    return [f"the full-text index {text.format(count)}" for text, count in counts.items() if count]


def may_be_of_index(error: sqlite3.Error) -> bool:
    """Return whether the error may come from a damaged index, including FTS5's constraint errors."""
    return is_damage(error) or error.sqlite_errorcode == sqlite3.SQLITE_CONSTRAINT


def is_sound_but_for_index(connection: sqlite3.Connection) -> bool:
    """Return whether all tables but the rebuildable index pass the integrity check."""
    try:
        query = f"SELECT name FROM sqlite_schema WHERE type = 'table' AND NOT {_OF_INDEX}"
        tables = connection.execute(query).fetchall()
        checks = (f"PRAGMA integrity_check({table})" for (table,) in tables)
        return all(connection.execute(check).fetchall() == [("ok",)] for check in checks)
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        return False


def begin_index_anew(connection: sqlite3.Connection) -> None:
    """Replace the index by an empty one, which the archive's thread fills, without reading the old one.

    The pages of the old index stay in the file until `VACUUM`.
    """
    (made_by,) = connection.execute("SELECT sql FROM sqlite_schema WHERE name = 'words'").fetchone()
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(f"DELETE FROM sqlite_schema WHERE {_OF_INDEX}")
        # RESET also drops the tables from the schema cache of the connection.
        connection.execute("PRAGMA writable_schema = RESET")
        connection.execute(made_by)
        connection.execute("DELETE FROM marks WHERE name = ?", (WORDS_MARK,))
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _count(connection: sqlite3.Connection, rows: str, **values: int | str) -> int:
    (count,) = connection.execute(f"SELECT count(*) FROM ({rows})", values).fetchone()
    return int(count)
