"""Exponential back-off for clients whose logins fail."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

# The number of failures without a wait, because people mistype.
FREE: Final = 5
# One failure is forgotten after this time.
FORGIVEN_S: Final = 60.0
# The maximum number of clients; those that failed longest ago are evicted.
MOST: Final = 10_000


@dataclass(slots=True)
class _Failures:
    count: int = 0
    last_at: float = 0.0


class LoginBackoff:
    """Counts failed logins per client, over all its connections.

    A success does not reset the count: a client with one account could guess passwords of others in between.
    """

    def __init__(self) -> None:
        self._failures: dict[Hashable, _Failures] = {}

    def failed(self, client: Hashable, now: float) -> None:
        """Count a failed login."""
        before = self._failures.pop(client, None) or _Failures()
        forgiven = int((now - before.last_at) / FORGIVEN_S)
        # Insert again, so that the dict is ordered by the last failure.
        self._failures[client] = _Failures(max(0, before.count - forgiven) + 1, now)
        if len(self._failures) > MOST:
            del self._failures[next(iter(self._failures))]

    def ready_at(self, client: Hashable, longest_s: float) -> float:
        """Return when the client may try again. The wait doubles with every failure, up to `longest_s`."""
        failures = self._failures.get(client)
        if failures is None or failures.count < FREE:
            return 0.0
        return failures.last_at + min(2.0 ** min(failures.count - FREE, 30), longest_s)
