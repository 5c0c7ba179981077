"""The time of day: it does not go back when a clock that was ahead is put right."""

from collections.abc import Callable
from typing import Final

MOST_S: Final = 300.0
"""By so much a clock that runs too fast is put back. By more, it was wrong: what has its time is not to wait
for it."""
JUST_LATER_S: Final = 0.001
"""As exactly as history has it."""


def forward(clock: Callable[[], float]) -> Callable[[], float]:
    """The same clock; while it is behind what was told last, time passes at half its speed.

    What is said later has a later time: in history it comes later, and who has read up to a time finds it.
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
