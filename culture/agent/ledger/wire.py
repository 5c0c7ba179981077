"""The requests and answers between agents and culture-ledger: JSON lines, with records as arrays."""

import json
from collections.abc import Mapping
from typing import Any, Final

from culture.errors import (
    CultureError,
    NoInputError,
    NotAllowedError,
    TemporaryError,
    UnavailableError,
    UsageError,
)
from culture.store.ledger.records import (
    Answer,
    BudgetState,
    Hold,
    Limit,
    News,
    Quota,
    Share,
    Spender,
    Spent,
    Told,
    Use,
)

MAX_LINE_BYTES: Final = 64 * 1024
_ERRORS: Final = {
    kind.exit_status: kind
    for kind in (UsageError, NoInputError, UnavailableError, TemporaryError, NotAllowedError)
}

Json = dict[str, Any]


def encode(message: Mapping[str, Any]) -> bytes:
    """Return a message as one line of JSON."""
    return json.dumps(message).encode() + b"\n"


def decode(line: bytes) -> Json:
    """Parse a line; raise UsageError if it is not a JSON object."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        raise UsageError("the line is not valid JSON") from None
    if not isinstance(message, dict):
        raise UsageError("a message must be a JSON object")
    return message


def refusal(error: CultureError) -> Json:
    """Return the answer to a request that failed."""
    return {"error": str(error), "hint": error.hint, "exit_status": error.exit_status}


def value_of(answer: Json) -> Any:
    """Return the value of an answer, or raise the error that it carries."""
    if "error" in answer:
        raise _ERRORS.get(answer["exit_status"], CultureError)(answer["error"], hint=answer["hint"])
    return answer["value"]


def read_hold(value: Any) -> Hold:
    """Return a reservation from JSON."""
    id, kind, spender, *rest = value
    return Hold(id, kind, Spender(*spender), *rest)


def read_use(value: Any) -> Use:
    """Return tokens and cost from JSON."""
    return Use(*value)


def read_limit(value: Any) -> Limit:
    """Return a budget from JSON."""
    return Limit(*value)


def read_quota(value: Any) -> Quota:
    """Return a quota from JSON."""
    return Quota(*value)


def read_news(value: Any) -> tuple[News, ...]:
    """Return news from JSON."""
    return tuple(News(Told(what), BudgetState(*budget)) for what, budget in value)


def read_answer(value: Any) -> Answer:
    """Return the answer to a reservation from JSON."""
    shortage, quota, news = value
    return Answer(
        None if shortage is None else BudgetState(*shortage),
        None if quota is None else Quota(*quota),
        read_news(news),
    )


def read_budgets(value: Any) -> list[BudgetState]:
    """Return budgets from JSON."""
    return [BudgetState(*each) for each in value]


def read_spent(value: Any) -> Spent:
    """Return totals from JSON."""
    return Spent(*value)


def read_shares(value: Any) -> list[Share]:
    """Return the rows of a report from JSON."""
    return [Share(*each) for each in value]
