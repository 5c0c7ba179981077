"""A wall clock that does not go back when the system clock is corrected."""

from collections.abc import Callable
from typing import Final

# A step back of at most this much is smoothed. After a larger one the clock was wrong, and events do not
# wait for it.
MOST_S: Final = 300.0
# The resolution of times in history.
JUST_LATER_S: Final = 0.001


def forward(clock: Callable[[], float]) -> Callable[[], float]:
    """Return a clock that runs at half speed while the given one is behind the last time it returned.

    Later messages so have later times, which the order of history and read markers depend on.
    """
    told = seen = clock()

    def now() -> float:
        nonlocal told, seen
        at = clock()
        if at < told <= at + MOST_S:
            told += (at - seen) / 2 if at >= seen else JUST_LATER_S
            seen = at
            return told
        told = seen = at
        return at

    return now
