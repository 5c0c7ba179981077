"""How fast a connection may talk: a token bucket, told the time by whoever asks."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rate:
    """So many lines per second in the long run, so many at once."""

    per_s: int
    burst: int


class Bucket:
    """One token is one line. It starts full, and fills up again as time passes."""

    __slots__ = ("_at", "_rate", "_tokens")

    def __init__(self, rate: Rate, now: float) -> None:
        self._rate = rate
        self._tokens = float(max(rate.burst, 1))
        self._at = now

    def take(self, wanted: int, now: float) -> int:
        """As many tokens as there are, up to what is wanted."""
        self._fill(now)
        taken = min(wanted, max(int(self._tokens), 0))
        self._tokens -= taken
        return taken

    def lend(self, most: int) -> int:
        """Tokens to spend without asking, or to give back: a small part of those that there are."""
        lent = max(0, min(most, int(self._tokens) // 8))
        self._tokens -= lent
        return lent

    def owe(self, tokens: int) -> None:
        """Spend what may not be there: nothing can be taken before it is paid back."""
        self._tokens -= tokens

    def wait_s(self, now: float) -> float:
        """How long until a token can be taken."""
        self._fill(now)
        return max(0.0, (1 - self._tokens) / self._rate.per_s)

    def _fill(self, now: float) -> None:
        # A timer that stands still or is asked out of order gives nothing, and takes nothing.
        passed_s = max(0.0, now - self._at)
        self._at = max(self._at, now)
        self._tokens = min(float(max(self._rate.burst, 1)), self._tokens + passed_s * self._rate.per_s)
