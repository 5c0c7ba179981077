"""Circuit breaker: stop restarting a backend that keeps crashing."""

from collections import deque


class CircuitBreaker:
    """Opens after `crashes` crashes within `within_s` seconds, and stays open until `close` is called."""

    def __init__(self, crashes: int, within_s: float) -> None:
        self._most = crashes
        self._within_s = within_s
        self._crashed_at: deque[float] = deque(maxlen=crashes)
        self.is_open = False

    def crashed(self, now_s: float) -> bool:
        """Record a crash and return whether the breaker is open now."""
        self._crashed_at.append(now_s)
        is_full = len(self._crashed_at) == self._most
        self.is_open = self.is_open or (is_full and now_s - self._crashed_at[0] <= self._within_s)
        return self.is_open

    def close(self) -> None:
        self._crashed_at.clear()
        self.is_open = False
