"""Convert what the CLI reports about the quota of its login to the messages of the contract."""

from collections.abc import Mapping
from typing import Any, Final

from claude_agent_sdk import RateLimitInfo

from culture.agent.contract import RateLimit

_REJECTED: Final = "rejected"


def rate_limits(info: RateLimitInfo) -> list[RateLimit]:
    """Return one message per quota window. The window that refuses calls comes last."""
    windows: Mapping[str, Mapping[str, Any]] = info.raw.get("unifiedWindows") or {}
    limits = [
        RateLimit(
            window.get("status") == _REJECTED, name, window.get("utilization"), _time(window.get("resetsAt"))
        )
        for name, window in windows.items()
        if name != info.rate_limit_type
    ]
    own = windows.get(info.rate_limit_type or "", {})
    used = info.utilization if info.utilization is not None else own.get("utilization")
    named = info.rate_limit_type or ""
    return [*limits, RateLimit(info.status == _REJECTED, named, used, _time(info.resets_at))]


def _time(given: float | None) -> float | None:
    return None if given is None else float(given)
