"""When to connect to which host: soon, then later and later, and never all at once."""

from collections.abc import Callable, Collection
from dataclasses import dataclass


@dataclass(slots=True)
class Attempt:
    at: float
    failures: int = 0
    is_under_way: bool = False
    """Somebody is connecting: what comes of it is to be told."""


class Dialing:
    def __init__(self, timer: Callable[[], float], random: Callable[[], float], most_s: float) -> None:
        """`random` is between 0 and 1."""
        self._timer = timer
        self._random = random
        self._most_s = most_s
        self._attempts: dict[str, Attempt] = {}

    def seek(self, name: str) -> None:
        """Connect by ourselves from now on, and at once."""
        attempt = self._attempts.setdefault(name, Attempt(self._timer()))
        attempt.at, attempt.failures = self._timer(), 0

    def leave(self, name: str) -> None:
        """Connect no more by ourselves."""
        self._attempts.pop(name, None)

    def linked(self, name: str) -> None:
        if (attempt := self._attempts.get(name)) is not None:
            attempt.failures, attempt.is_under_way = 0, False

    def lost(self, name: str) -> None:
        """It ended, or did not come about: half a second, doubled each time; of that a half by chance."""
        if (attempt := self._attempts.get(name)) is not None:
            pause_s = min(self._most_s, 0.5 * 2.0 ** min(attempt.failures, 16))
            attempt.failures += 1
            attempt.is_under_way = False
            attempt.at = self._timer() + pause_s * (0.5 + 0.5 * self._random())

    def due(self, busy: Collection[str]) -> list[str]:
        """Whom to connect to now, but for those with whom there is a connection."""
        now = self._timer()
        due = []
        for name, attempt in self._attempts.items():
            if attempt.at <= now and not attempt.is_under_way and name not in busy:
                attempt.is_under_way = True
                due.append(name)
        return due

    def next_at(self, name: str) -> float | None:
        attempt = self._attempts.get(name)
        return attempt.at if attempt is not None else None
