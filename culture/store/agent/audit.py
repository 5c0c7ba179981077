"""The audit log of an agent's questions: append-only, each row chained to the one before by its hash."""

import hashlib
import json
import sqlite3
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

# The hash that the first row has as its previous one.
_FIRST: Final = "0" * 64
# The name in the table `kept` of the last row's number and hash, which reveals that rows at the end are gone.
_HEAD: Final = "audit"


class AuditRow(NamedTuple):
    """One event in the life of a question."""

    number: int
    at_ms: int
    # asked, vote, answered, timed-out, delivered, used or withdrawn.
    event: str
    question: str
    # JSON.
    details: str
    previous: str
    hash: str

    @property
    def expected_hash(self) -> str:
        """Return the hash that the row has if nobody changed it."""
        return _hash(*self[:-1])


class AuditLog:
    """Appends to the audit log and verifies it; the caller opens the transactions."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def append(self, at_ms: int, event: str, question: str, details: Mapping[str, Any]) -> str:
        """Append a row and return its hash."""
        last = self._connection.execute(
            "SELECT number, hash FROM audit ORDER BY number DESC LIMIT 1"
        ).fetchone()
        number, previous = (last[0] + 1, last[1]) if last else (1, _FIRST)
        text = json.dumps(details, ensure_ascii=True, sort_keys=True)
        hash = _hash(number, at_ms, event, question, text, previous)
        self._connection.execute(
            "INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?)",
            (number, at_ms, event, question, text, previous, hash),
        )
        self._connection.execute("INSERT OR REPLACE INTO kept VALUES (?, ?)", (_HEAD, f"{number} {hash}"))
        return hash

    def rows(self) -> list[AuditRow]:
        """Return all rows, the oldest first."""
        rows = self._connection.execute(
            "SELECT number, at_ms, event, question, details, previous, hash FROM audit ORDER BY number"
        )
        return [AuditRow(*row) for row in rows]

    def problems(self) -> list[str]:
        """Return what shows that a row was changed, removed or reordered; nothing if the log is intact."""
        found = []
        number, previous = 0, _FIRST
        for row in self.rows():
            if row.number != number + 1:
                found.append(f"rows {number + 1} to {row.number - 1} are missing")
            elif row.previous != previous:
                found.append(f"row {row.number} does not follow row {number}")
            if row.hash != row.expected_hash:
                found.append(f"row {row.number} was changed")
            number, previous = row.number, row.hash
        kept = self._connection.execute("SELECT value FROM kept WHERE name = ?", (_HEAD,)).fetchone()
        head = kept[0] if kept else f"0 {_FIRST}"
        if head != f"{number} {previous}":
            found.append(f"the last row is {number}, but row {head.partition(' ')[0]} was written last")
        return found


def _hash(number: int, at_ms: int, event: str, question: str, details: str, previous: str) -> str:
    text = json.dumps([number, at_ms, event, question, details, previous], ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
