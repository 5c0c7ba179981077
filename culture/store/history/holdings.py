"""Watermarks per origin: the event number up to which this host holds everything that it may."""

import sqlite3
from collections.abc import Iterable
from typing import Final

from culture.protocol.event_record import GENERATION_SHIFT
from culture.store.history.journal import JournalEntry

# Prefix of the scope of direct messages to a host, which have their own order.
DIRECT: Final = ">"

# The highest number by origin (empty: this host), scope and generation.
Holdings = dict[str, dict[str, dict[int, int]]]


def scopes(entry: JournalEntry) -> tuple[str, ...]:
    """Return the scopes that the number of an event is a watermark for."""
    return (f"{DIRECT}{entry.to}",) if entry.to else tuple(entry.scope.split(","))


def filed_holdings(connection: sqlite3.Connection) -> Holdings:
    """Return the watermarks in the database."""
    held: Holdings = {}
    query = "SELECT host, scope, generation, seq FROM holdings JOIN origins ON origins.id = origin"
    for host, scope, generation, seq in connection.execute(query):
        held.setdefault(host, {}).setdefault(scope, {})[generation] = seq
    return held


def add(held: Holdings, entries: Iterable[JournalEntry]) -> None:
    """Raise the watermarks by entries that are only in the journal."""
    for entry in entries:
        for scope in scopes(entry):
            numbers = held.setdefault(entry.origin, {}).setdefault(scope, {})
            generation = entry.seq >> GENERATION_SHIFT
            numbers[generation] = max(entry.seq, numbers.get(generation, 0))
