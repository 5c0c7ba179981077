"""Handshakes that failed, by where they came from: whoever guesses has to wait."""

from collections import deque
from collections.abc import Callable
from typing import Final

MOST: Final = 5
"""So many from one address may fail in a minute before none is looked at any more."""
WITHIN_S: Final = 60.0
REMEMBERED: Final = 4096
"""How many failures are remembered in all. Who has more addresses than that is not stopped by counting."""


class Attempts:
    def __init__(self, timer: Callable[[], float]) -> None:
        self._timer = timer
        self._failed: deque[tuple[float, str]] = deque(maxlen=REMEMBERED)

    def failed(self, address: str) -> None:
        self._failed.append((self._timer(), address))

    def are_too_many(self, address: str) -> bool:
        since = self._timer() - WITHIN_S
        while self._failed and self._failed[0][0] < since:
            self._failed.popleft()
        return sum(1 for _, each in self._failed if each == address) >= MOST
