"""Convert what an agent reports about tokens, cost and its context to the figures of the contract."""

from collections.abc import Mapping
from typing import Any

from culture.agent.contract import Usage


class Figures:
    """The cost of a session, as its agent reports it: `turn_usd` is the part since `begin_turn`."""

    def __init__(self, cost_usd: float | None) -> None:
        """Begin with what the session has cost; None if it was resumed and nobody knows."""
        self._cost_usd = cost_usd
        self._before_usd = cost_usd
        self._is_told = False
        self.context: float | None = None

    def begin_turn(self) -> None:
        """Count the cost of a new turn from here."""
        self._before_usd = self._cost_usd
        self._is_told = False

    def update(self, update: Mapping[str, Any]) -> None:
        """Take a usage_update of the agent."""
        match update:
            case {"used": int(used), "size": int(size)} if size:
                self.context = used / size
        match update.get("cost"):
            case {"amount": int() | float() as amount, "currency": "USD"}:
                self._cost_usd = float(amount)
                self._is_told = True

    @property
    def turn_usd(self) -> float | None:
        """Return the cost of the turn so far; None if the agent does not report it."""
        if not self._is_told or self._before_usd is None or self._cost_usd is None:
            return None
        return max(self._cost_usd - self._before_usd, 0.0)


def usage(told: Mapping[str, Any] | None) -> Usage | None:
    """Convert token counts: their kinds do not overlap in ACP (schema, Usage), as they do in the contract."""
    if not told:
        return None
    count = {name: value for name, value in told.items() if isinstance(value, int)}
    cached = count.get("cachedReadTokens", 0)
    given = count.get("inputTokens", 0) + cached + count.get("cachedWriteTokens", 0)
    return Usage(given, cached, count.get("outputTokens", 0) + count.get("thoughtTokens", 0))
