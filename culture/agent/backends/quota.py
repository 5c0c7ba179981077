"""Report an exhausted quota with each turn that fails for it, and with the time of its reset."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from culture.agent.contract import Message, RateLimit, Result

TOO_MANY_REQUESTS: Final = 429


class Quota:
    """What is known about the quota of a backend's login. `now_s` returns the Unix time.

    Backends report a quota only when it changes, and some report none. Then only the HTTP status of a failed
    turn says that calls are refused.
    """

    def __init__(self, now_s: Callable[[], float] = time.time) -> None:
        self._now_s = now_s
        # The last report of each window.
        self._windows: dict[str, RateLimit] = {}
        # Whether the running turn has reported an exhausted window already.
        self._is_reported = False

    def before(self, message: Message) -> list[RateLimit]:
        """Return what has to be reported before a message of the backend, and take note of the message."""
        match message:
            case RateLimit():
                self._windows[message.window] = message
                self._is_reported = self._is_reported or message.is_exhausted
            case Result():
                was_reported, self._is_reported = self._is_reported, False
                if message.status == TOO_MANY_REQUESTS and not was_reported:
                    return [self._exhausted()]
            case _:
                pass
        return []

    def _exhausted(self) -> RateLimit:
        """Return the window that refuses calls, if one is known; nobody knows its reset otherwise."""
        for limit in self._windows.values():
            is_full = limit.is_exhausted or (limit.utilization or 0.0) >= 1.0
            if is_full and (limit.resets_at_s or 0.0) > self._now_s():
                return replace(limit, is_exhausted=True)
        return RateLimit(is_exhausted=True)
