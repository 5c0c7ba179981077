"""Holdings: of each origin, up to which number everything is here that may be."""

import sqlite3
from collections.abc import Iterable
from typing import Final

from culture.protocol.happening import GENERATION_SHIFT
from culture.store.history.journal import Entry

DIRECT: Final = ">"
"""In front of the host that direct messages go to: they come by themselves, in an order of their own."""

Holdings = dict[str, dict[str, dict[int, int]]]
"""By origin (empty: this host), scope and generation, the highest number."""


def scopes(entry: Entry) -> tuple[str, ...]:
    """What the number of an event counts for."""
    return (f"{DIRECT}{entry.to}",) if entry.to else tuple(entry.scope.split(","))


def filed_holdings(connection: sqlite3.Connection) -> Holdings:
    held: Holdings = {}
    query = "SELECT host, scope, generation, seq FROM holdings JOIN origins ON origins.id = origin"
    for host, scope, generation, seq in connection.execute(query):
        held.setdefault(host, {}).setdefault(scope, {})[generation] = seq
    return held


def add(held: Holdings, entries: Iterable[Entry]) -> None:
    """What is in the journal, and not filed yet."""
    for entry in entries:
        for scope in scopes(entry):
            numbers = held.setdefault(entry.origin, {}).setdefault(scope, {})
            generation = entry.seq >> GENERATION_SHIFT
            numbers[generation] = max(entry.seq, numbers.get(generation, 0))
