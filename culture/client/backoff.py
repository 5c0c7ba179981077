"""Compute the delays between connection attempts: 1, 2, 4 … 60 s, with jitter."""

from collections.abc import Callable, Iterator
from typing import Final

FIRST_S: Final = 1.0
LONGEST_S: Final = 60.0
# A fleet that lost one server must not come back to it in one instant.
JITTER: Final = 0.25


def waits_s(random: Callable[[], float]) -> Iterator[float]:
    """Yield the delays without end. `random` returns numbers from 0 up to 1."""
    wait_s = FIRST_S
    while True:
        yield wait_s * (1 - JITTER * random())
        wait_s = min(wait_s * 2, LONGEST_S)
