"""What every backend tells in the same words: results, failures of the API, its own end."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from culture.agent.contract import Message

INTERRUPTED: Final = "interrupted"

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
    usage: Mapping[str, int] | None = None,
    context: float | None = None,
    asked: bool = True,
) -> Message:
    """With an error, or the status of an API that failed, the turn failed."""
    words = api_error(status) if status is not None else " ".join(error.split())
    return {
        "type": "result",
        "failed": bool(words),
        "error": words,
        "status": status,
        "cost_usd": cost_usd,
        "duration_ms": duration_ms,
        "usage": dict(usage or {}),
        "context": context,
        "asked": asked,
    }


def usage(input_tokens: int, cached_tokens: int, output_tokens: int) -> dict[str, int]:
    """`input_tokens` are all that the model was given, the cached ones among them."""
    return {"input_tokens": input_tokens, "cached_tokens": cached_tokens, "output_tokens": output_tokens}


def context(did: Literal["compacted", "cleared"], error: str = "") -> Message:
    return {"type": "context", "did": did, "failed": bool(error), "error": error}


def api_error(status: int) -> str:
    return f"{_API_ERRORS.get(status, 'an error of the API of the model')} (status {status})"


def ended(program: str, code: int, last_words: Sequence[str]) -> str:
    """Why a turn has no end of its own: its program's."""
    how = f"was killed by signal {-code}" if code < 0 else f"ended with status {code}"
    return f"the {program} program {how}" + (f": {last_words[-1]}" if last_words else "")
