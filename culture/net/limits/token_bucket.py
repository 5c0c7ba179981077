"""Token bucket for rate limits. The caller passes the time, so tests need no clock."""

from dataclasses import dataclass
from typing import Final

# Share of the loop's time that one client may use in the long run.
SHARE: Final = 0.1
# Upper bound of one charge: the client is not charged for time in which the process was suspended.
MAX_CHARGE_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Rate:
    """Tokens per second in the long run, and tokens at once."""

    per_s: int
    burst: int


class TokenBucket:
    """A bucket that starts full and refills over time. For lines, one token is one line."""

    __slots__ = ("_at", "_rate", "_tokens")

    def __init__(self, rate: Rate, now: float) -> None:
        self._rate = rate
        self._tokens = float(max(rate.burst, 1))
        self._at = now

    def take(self, wanted: int, now: float) -> int:
        """Take up to `wanted` tokens, and return how many were taken."""
        self._fill(now)
        taken = min(wanted, max(int(self._tokens), 0))
        self._tokens -= taken
        return taken

    def lend(self, limit: int) -> int:
        """Take at limit an eighth of the tokens in advance; unused ones come back by a negative `owe`."""
        lent = max(0, min(limit, int(self._tokens) // 8))
        self._tokens -= lent
        return lent

    def owe(self, tokens: int) -> None:
        """Spend tokens even if there are not enough; the debt delays later takes."""
        self._tokens -= tokens

    def charge_time(self, seconds: float) -> None:
        """Spend as many tokens as this much of the loop's time is worth."""
        self._tokens -= min(seconds, MAX_CHARGE_S) * self._rate.per_s / SHARE

    def wait_s(self, now: float) -> float:
        """Return the seconds until a token is available."""
        self._fill(now)
        return max(0.0, (1 - self._tokens) / self._rate.per_s)

    def is_full(self, now: float) -> bool:
        """Return whether the bucket is full."""
        self._fill(now)
        return self._tokens >= self._rate.burst

    def _fill(self, now: float) -> None:
        # Times out of order neither add nor remove tokens.
        passed_s = max(0.0, now - self._at)
        self._at = max(self._at, now)
        self._tokens = min(float(max(self._rate.burst, 1)), self._tokens + passed_s * self._rate.per_s)
