"""Remember which quota is exhausted, so that each call that fails for it is reported with its reset."""

from typing import Final

from culture.agent.contract import RateLimit, Result

TOO_MANY_REQUESTS: Final = 429


class Quota:
    """The exhausted quota of a backend's login, as far as the backend said so."""

    def __init__(self) -> None:
        self._exhausted: RateLimit | None = None
        self._is_reported = False

    def reported(self, limit: RateLimit) -> RateLimit:
        """Take note of what the backend reported, and return it."""
        if limit.is_exhausted:
            self._exhausted, self._is_reported = limit, True
        elif self._exhausted is not None and self._exhausted.window == limit.window:
            self._exhausted = None
        return limit

    def of_result(self, result: Result) -> list[RateLimit]:
        """Return what to report before the result of a turn.

        Backends report a quota only when it changes, and some report none: then only the HTTP status says
        that calls are refused, and nobody knows until when.
        """
        was_reported, self._is_reported = self._is_reported, False
        if result.status != TOO_MANY_REQUESTS or was_reported:
            return []
        return [self._exhausted or RateLimit(is_exhausted=True)]
