"""Signs of a loop that are worth an early evaluation. They cost nothing and decide nothing else.

Each sign looks at the steps since the last evaluation, and only at those of the agent, or of the sub-agent,
that made the newest one. A repeated call whose result changes is polling and no sign.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from culture.agent.supervision.window import Call, Step

SAME_CALLS: Final = 4
SAME_ERRORS: Final = 3
ALTERNATING_CALLS: Final = 6
TEXTS_IN_A_ROW: Final = 3
MONOLOGUE_LENGTH: Final = 20_000

# Times, line numbers, process ids and addresses differ between two errors that are the same.
_NUMBER: Final = re.compile(r"0x[0-9a-fA-F]+|\d+")


def sign_of_a_loop(steps: Sequence[Step]) -> str:
    """Return what the newest steps look like, in a few words; empty if they look like nothing special."""
    if not steps:
        return ""
    own = [step for step in steps if step.parent == steps[-1].parent]
    return next((words for words, applies in _SIGNS if applies(own)), "")


def _is_repeated_call(steps: Sequence[Step]) -> bool:
    last = [_signature(call) for call in _calls(steps)[-SAME_CALLS:]]
    return len(last) == SAME_CALLS and len(set(last)) == 1


def _is_repeated_error(steps: Sequence[Step]) -> bool:
    newest = _calls(steps[-1:])
    errors = Counter(_error(call) for call in _calls(steps) if call.failed)
    return any(call.failed and errors[_error(call)] >= SAME_ERRORS for call in newest)


def _is_alternating(steps: Sequence[Step]) -> bool:
    last = [_signature(call) for call in _calls(steps)[-ALTERNATING_CALLS:]]
    if len(last) < ALTERNATING_CALLS:
        return False
    return len(set(last[::2])) == len(set(last[1::2])) == 1 and last[0] != last[1]


def _is_monologue(steps: Sequence[Step]) -> bool:
    row: list[Step] = []
    for step in reversed(steps):
        # Short answers in several turns are a conversation.
        if step.calls or step.turn != steps[-1].turn:
            break
        row.append(step)
    return len(row) >= TEXTS_IN_A_ROW or sum(step.text.length for step in row) >= MONOLOGUE_LENGTH


_SIGNS: Final[Sequence[tuple[str, Callable[[Sequence[Step]], bool]]]] = (
    ("the same call returned the same result four times", _is_repeated_call),
    ("the same error came three times", _is_repeated_error),
    ("two calls alternated six times", _is_alternating),
    ("a long text without a tool call", _is_monologue),
)


def _calls(steps: Sequence[Step]) -> list[Call]:
    return [call for step in steps for call in step.calls]


def _signature(call: Call) -> tuple[object, ...]:
    return call.name, call.arguments.digest, call.result and call.result.digest, call.failed


def _error(call: Call) -> str:
    return _NUMBER.sub("0", call.result.text) if call.result else ""
