"""Names for events and batches."""

from collections.abc import Callable
from itertools import count


def new_ids(prefix: str) -> Callable[[], str]:
    """A name at each call. They are unique as long as no other server, and no other run, has the prefix."""
    numbers = count(1)
    return lambda: f"{prefix}{next(numbers):x}"
