"""Tokens and cost of an agent's turns by day, as its backend reports them."""

import sqlite3
from datetime import date
from typing import Final, NamedTuple

_ADD: Final = """
INSERT INTO spent VALUES (?, 1, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
turns = turns + 1, input_tokens = input_tokens + excluded.input_tokens,
cached_tokens = cached_tokens + excluded.cached_tokens,
output_tokens = output_tokens + excluded.output_tokens, cost_usd = cost_usd + excluded.cost_usd
"""


class Use(NamedTuple):
    """Tokens and cost of one turn."""

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    # None if the backend does not report it.
    cost_usd: float | None = None


class Spent(NamedTuple):
    """Total tokens and cost of several turns."""

    turns: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost_usd: float


class Spending:
    """The totals by day; the caller opens the transactions."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def add(self, day: str, use: Use) -> None:
        """Add a turn to a day."""
        values = (day, use.input_tokens, use.cached_tokens, use.output_tokens, use.cost_usd or 0.0)
        self._connection.execute(_ADD, values)

    def on(self, day: str) -> Spent:
        """Return the totals of a day."""
        return self._sum("WHERE day = ?", day)

    def in_total(self) -> Spent:
        """Return the totals of all days."""
        return self._sum("")

    def _sum(self, which: str, *values: str) -> Spent:
        sums = ", ".join(f"coalesce(sum({name}), 0)" for name in Spent._fields)
        return Spent(*self._connection.execute(f"SELECT {sums} FROM spent {which}", values).fetchone())


def today() -> str:
    """Return the day that spending is booked on: the local date, as `2026-11-18`."""
    return date.today().isoformat()
