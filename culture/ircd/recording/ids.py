"""Ids for messages, batches and sessions."""

from collections.abc import Callable
from itertools import count


def new_ids(prefix: str) -> Callable[[], str]:
    """Return a function that makes a new id at each call. The prefix must be unique to this run."""
    numbers = count(1)
    return lambda: f"{prefix}{next(numbers):x}"
