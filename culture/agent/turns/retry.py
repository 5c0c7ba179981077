"""Retry with exponential back-off after the model's API failed."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class RetryRule:
    """How often and with which delays a turn is retried."""

    # None: retry until the message expires.
    times: int | None
    first_s: float
    longest_s: float


_BUSY: Final = RetryRule(times=None, first_s=10, longest_s=300)
_BROKEN: Final = RetryRule(times=2, first_s=5, longest_s=10)

# By HTTP status. Others are not retried, because the result would be the same: 401 and 403 mean a wrong key,
# 400 a wrong request.
RULES: Final[dict[int, RetryRule]] = {
    429: _BUSY,
    529: _BUSY,
    503: _BUSY,
    500: _BROKEN,
    502: _BROKEN,
    504: _BROKEN,
}


def retry_delay_s(status: int | None, failures: int) -> float | None:
    """Return the delay after this number of consecutive failures, or None to stop retrying."""
    rule = RULES.get(status) if status is not None else None
    if rule is None or (rule.times is not None and failures > rule.times):
        return None
    # Bound the exponent, because 2.0 ** failures overflows after about a thousand failures.
    return min(rule.first_s * 2.0 ** min(failures - 1, 32), rule.longest_s)
