"""What an agent tells about tokens, cost and the fill of its context, in the figures of the contract."""

from collections.abc import Mapping
from typing import Any

from culture.agent.contract import Usage


class Figures:
    """Agents tell the cost of a session, which grows; `begin_turn` and `turn_usd` make it a turn's."""

    def __init__(self, cost_usd: float | None) -> None:
        """None: the session went on, and what it has cost by now is not known."""
        self._cost_usd = cost_usd
        self._before_usd = cost_usd
        self._is_told = False
        self.context: float | None = None

    def begin_turn(self) -> None:
        self._before_usd = self._cost_usd
        self._is_told = False

    def update(self, update: Mapping[str, Any]) -> None:
        match update:
            case {"used": int(used), "size": int(size)} if size:
                self.context = used / size
        match update.get("cost"):
            case {"amount": int() | float() as amount, "currency": "USD"}:
                self._cost_usd = float(amount)
                self._is_told = True

    @property
    def turn_usd(self) -> float | None:
        if not self._is_told or self._before_usd is None or self._cost_usd is None:
            return None
        return max(self._cost_usd - self._before_usd, 0.0)


def usage(told: Mapping[str, Any] | None) -> Usage | None:
    """The kinds of tokens do not overlap in ACP (schema, Usage); in the contract the input is all of it."""
    if not told:
        return None
    count = {name: value for name, value in told.items() if isinstance(value, int)}
    cached = count.get("cachedReadTokens", 0)
    given = count.get("inputTokens", 0) + cached + count.get("cachedWriteTokens", 0)
    return Usage(given, cached, count.get("outputTokens", 0) + count.get("thoughtTokens", 0))
