"""Waiting for a condition, with a deadline."""

import time
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def eventually(check: Callable[[], Result], *, within_s: float, what: str) -> Result:
    """What `check` returns once that is true; AssertionError with `what` and its last result otherwise."""
    deadline = time.monotonic() + within_s
    while not (result := check()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within_s} s: {what} (last: {result!r})")
        time.sleep(0.02)
    return result
