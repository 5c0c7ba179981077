"""Convert what codex reports about the quota of its login to the messages of the contract."""

from collections.abc import Mapping
from typing import Any, Final

from culture.agent.contract import RateLimit

# The names that others use for the usual windows, by their minutes.
_WINDOWS: Final = {300: "five_hour", 10080: "seven_day"}


def rate_limits(snapshot: Mapping[str, Any]) -> list[RateLimit]:
    """Return one message per quota window of account/rateLimits/updated.

    A full window alone does not refuse calls, since the login may have credits: codex names a reached limit,
    or the turn fails.
    """
    is_reached = snapshot.get("rateLimitReachedType") is not None
    windows = [snapshot.get("primary"), snapshot.get("secondary")]
    return [_rate_limit(window, is_reached=is_reached) for window in windows if window]


def _rate_limit(window: Mapping[str, Any], *, is_reached: bool) -> RateLimit:
    minutes, resets_at = window.get("windowDurationMins"), window.get("resetsAt")
    name = _WINDOWS.get(minutes, f"{minutes} minutes") if minutes else ""
    used = window["usedPercent"] / 100
    return RateLimit(
        is_reached and used >= 1, name, used, float(resets_at) if resets_at is not None else None
    )
