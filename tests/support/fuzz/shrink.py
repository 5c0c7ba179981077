"""The shortest game that still goes wrong in the same way."""

import traceback
from collections.abc import Callable, Sequence
from typing import TypeVar

from support.fuzz.play import replay
from support.fuzz.steps import Step

Item = TypeVar("Item")


def shrink_game(steps: Sequence[Step], failure: Exception) -> list[Step]:
    place = _place(failure)

    def fails(fewer: Sequence[Step]) -> bool:
        other = replay(fewer)
        return other is not None and _place(other) == place

    return shrunk(list(steps), fails)


def shrunk(items: list[Item], fails: Callable[[list[Item]], bool]) -> list[Item]:
    """Without all that can be left out: halves first, then quarters, in the end one by one."""
    size = max(len(items) // 2, 1)
    while True:
        at, before = 0, len(items)
        while at < len(items):
            fewer = items[:at] + items[at + size :]
            if fails(fewer):
                items = fewer
            else:
                at += size
        if size == 1 and len(items) == before:
            return items
        size = max(size // 2, 1)


def _place(failure: Exception) -> tuple[type, str, int | None]:
    """Two failures are the same if they are raised in the same line of code."""
    last = traceback.extract_tb(failure.__traceback__)[-1]
    return type(failure), last.filename, last.lineno
