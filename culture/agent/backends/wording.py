"""Wording that all backends share: results, failures of the model's API, the end of a program."""

from collections.abc import Sequence
from typing import Final

from culture.agent.contract import Result, ToolUse, Usage

INTERRUPTED: Final = "interrupted"
OVER_BUDGET: Final = "the budget of the session is spent"

_API_ERRORS = {
    401: "the API of the model refuses the key",
    403: "the API of the model refuses the request",
    429: "the rate limit of the model is reached",
    529: "the model is overloaded",
}


def result(
    error: str = "",
    *,
    status: int | None = None,
    cost_usd: float | None = None,
    duration_ms: int = 0,
    usage: Usage | None = None,
    context: float | None = None,
    asked: bool = True,
    is_over_budget: bool = False,
    deferred: ToolUse | None = None,
) -> Result:
    """Make the result of a turn. With an error, or the status of an API that failed, the turn failed."""
    told = api_error(status) if status is not None else " ".join(error.split())
    return Result(told, status, cost_usd, duration_ms, usage, context, asked, is_over_budget, deferred)


def api_error(status: int) -> str:
    """Say that the model's API failed with this HTTP status."""
    return f"{_API_ERRORS.get(status, 'an error of the API of the model')} (status {status})"


def ended(program: str, code: int, last_words: Sequence[str]) -> str:
    """Say why a turn has no end of its own: its program ended."""
    how = f"was killed by signal {-code}" if code < 0 else f"ended with status {code}"
    return f"the {program} program {how}" + (f": {last_words[-1]}" if last_words else "")
