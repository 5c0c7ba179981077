"""Schedule dialing: exponential back-off with jitter."""

from collections.abc import Callable, Collection
from dataclasses import dataclass


@dataclass(slots=True)
class PendingDial:
    """The next attempt to connect to one host."""

    at: float
    failures: int = 0
    # The caller is connecting and will report the result.
    is_under_way: bool = False


class DialSchedule:
    """Decides when to dial each host that this one keeps links to."""

    def __init__(self, timer: Callable[[], float], random: Callable[[], float], max_pause_s: float) -> None:
        """`random` returns a number between 0 and 1."""
        self._timer = timer
        self._random = random
        self._max_pause_s = max_pause_s
        self._dials: dict[str, PendingDial] = {}

    def dial_now(self, name: str) -> None:
        """Dial a host at once, and keep redialing it."""
        dial = self._dials.setdefault(name, PendingDial(self._timer()))
        dial.at, dial.failures = self._timer(), 0

    def stop(self, name: str) -> None:
        """Stop redialing a host."""
        self._dials.pop(name, None)

    def linked(self, name: str) -> None:
        """Reset the back-off of a host whose link is up."""
        if (dial := self._dials.get(name)) is not None:
            dial.failures, dial.is_under_way = 0, False

    def back_off(self, name: str) -> None:
        """Schedule the next attempt: 0.5 s, doubled after each failure, of which up to half is jitter."""
        if (dial := self._dials.get(name)) is not None:
            pause_s = min(self._max_pause_s, 0.5 * 2.0 ** min(dial.failures, 16))
            dial.failures += 1
            dial.is_under_way = False
            dial.at = self._timer() + pause_s * (0.5 + 0.5 * self._random())

    def due(self, busy: Collection[str]) -> list[str]:
        """Return the hosts to dial now, except those with a connection."""
        now = self._timer()
        due = []
        for name, dial in self._dials.items():
            if dial.at <= now and not dial.is_under_way and name not in busy:
                dial.is_under_way = True
                due.append(name)
        return due

    def next_at(self, name: str) -> float | None:
        """Return when a host is dialed next, or None if it is not."""
        dial = self._dials.get(name)
        return dial.at if dial is not None else None
