"""Whether a turn is tried again that failed because of the model's API, and when."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Rule:
    # None: until the question is too old.
    times: int | None
    first_s: float
    longest_s: float


_BUSY: Final = Rule(times=None, first_s=10, longest_s=300)
_BROKEN: Final = Rule(times=2, first_s=5, longest_s=10)

# What is not here stays as it is, however often it is asked: 401 and 403, a wrong key; 400, a wrong request.
RULES: Final[dict[int, Rule]] = {
    429: _BUSY,
    529: _BUSY,
    503: _BUSY,
    500: _BROKEN,
    502: _BROKEN,
    504: _BROKEN,
}


def wait_s(status: int | None, failures: int) -> float | None:
    """How long to wait after the so many-th failure in a row; None: it is not tried again."""
    rule = RULES.get(status) if status is not None else None
    if rule is None or (rule.times is not None and failures > rule.times):
        return None
    # The exponent is bounded, as a number with too many digits cannot be one of seconds.
    return min(rule.first_s * 2.0 ** min(failures - 1, 32), rule.longest_s)
