"""What the turns of an agent used up, by day: its backend's own figures."""

import sqlite3
from typing import Final, NamedTuple

_ADD: Final = """
INSERT INTO spent VALUES (?, 1, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
turns = turns + 1, input_tokens = input_tokens + excluded.input_tokens,
cached_tokens = cached_tokens + excluded.cached_tokens,
output_tokens = output_tokens + excluded.output_tokens, cost_usd = cost_usd + excluded.cost_usd
"""


class Use(NamedTuple):
    """Of one turn."""

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    # None where the backend does not tell.
    cost_usd: float | None = None


class Spent(NamedTuple):
    turns: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost_usd: float


class Spending:
    """Works inside the transactions of its file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def add(self, day: str, use: Use) -> None:
        values = (day, use.input_tokens, use.cached_tokens, use.output_tokens, use.cost_usd or 0.0)
        self._connection.execute(_ADD, values)

    def on(self, day: str) -> Spent:
        return self._sum("WHERE day = ?", day)

    def in_total(self) -> Spent:
        return self._sum("")

    def _sum(self, which: str, *values: str) -> Spent:
        sums = ", ".join(f"coalesce(sum({name}), 0)" for name in Spent._fields)
        return Spent(*self._connection.execute(f"SELECT {sums} FROM spent {which}", values).fetchone())
