"""The last steps of an agent, as its supervisor sees them.

A step is what the agent does at once: one reply of its model and the results of the tools that it called. A
backend may report one reply as several messages, so a message belongs to the open step unless the step has
results already, or the message has text and the step has text or calls. A step is complete when all its calls
have returned, when the next step begins, or when the turn ends.

A turn has as many steps as the model needs. What `window_size` and `eval_interval` count are steps.
"""

import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final

from culture.agent.contract import Assistant, ToolResult, WatchedTask

# The characters that are kept of each text: from its beginning and from its end.
HEAD: Final = 140
TAIL: Final = 100


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The beginning and the end of a text on one line, and a digest that tells whole texts apart."""

    text: str
    length: int
    digest: bytes

    @classmethod
    def of(cls, text: str) -> "Excerpt":
        """Return the excerpt of a text."""
        digest = blake2b(text.encode(errors="replace"), digest_size=16).digest()
        return cls(shortened(text), len(text), digest)


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call with its result."""

    name: str
    arguments: Excerpt
    # None: the tool did not return.
    result: Excerpt | None = None
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One reply of the agent's model, with the results of its tool calls."""

    # None if the backend began the turn by itself.
    task: WatchedTask | None
    # The id of the tool call whose sub-agent made the step; empty for the agent itself.
    parent: str
    text: Excerpt
    calls: tuple[Call, ...]
    # How long after the step before it was complete, in seconds.
    duration_s: float

    @property
    def turn(self) -> str:
        """Return the id of the step's turn; empty if the backend began it by itself."""
        return self.task.turn if self.task else ""


@dataclass(slots=True)
class _OpenStep:
    task: WatchedTask | None
    parent: str
    texts: list[str] = field(default_factory=list)
    calls: dict[str, Call] = field(default_factory=dict)

    def continues_with(self, message: Assistant) -> bool:
        has_results = any(call.result is not None for call in self.calls.values())
        return not has_results and not (message.text and (self.texts or self.calls))

    def add(self, message: Assistant) -> None:
        if message.text:
            self.texts.append(message.text)
        for use in message.tool_uses:
            self.calls[use.id] = Call(use.name, Excerpt.of(_as_json(use.input)))

    @property
    def has_content(self) -> bool:
        return bool(self.texts or self.calls)

    @property
    def has_returned(self) -> bool:
        return bool(self.calls) and all(call.result is not None for call in self.calls.values())

    def closed(self, duration_s: float) -> Step:
        calls = tuple(self.calls.values())
        return Step(self.task, self.parent, Excerpt.of("\n".join(self.texts)), calls, duration_s)


class Window:
    """Groups the messages of a backend into steps and keeps the last complete ones."""

    def __init__(self, size: int) -> None:
        self._steps: deque[Step] = deque(maxlen=size)
        # The open steps of the agent and of its sub-agents, by `parent`.
        self._open: dict[str, _OpenStep] = {}
        self._last_s: float | None = None

    @property
    def steps(self) -> tuple[Step, ...]:
        """Return the complete steps, the oldest first."""
        return tuple(self._steps)

    def said(self, message: Assistant, task: WatchedTask | None, now_s: float) -> int:
        """Add a message of the model and return how many steps it completed."""
        if self._last_s is None:
            self._last_s = now_s
        completed = 0
        current = self._open.get(message.parent)
        if current is None or not current.continues_with(message):
            completed = self._close(message.parent, now_s)
            current = self._open[message.parent] = _OpenStep(task, message.parent)
        current.add(message)
        return completed

    def returned(self, result: ToolResult, now_s: float) -> int:
        """Add the result of a tool call and return how many steps it completed."""
        current = self._open.get(result.parent)
        if current is None or result.id not in current.calls:
            return 0
        call = current.calls[result.id]
        current.calls[result.id] = Call(call.name, call.arguments, Excerpt.of(result.text), result.failed)
        return self._close(result.parent, now_s) if current.has_returned else 0

    def turn_ended(self, now_s: float) -> int:
        """Complete the open steps and return how many there were."""
        completed = sum(self._close(parent, now_s) for parent in list(self._open))
        self._last_s = None
        return completed

    def clear(self) -> None:
        """Forget all steps."""
        self._steps.clear()
        self._open.clear()
        self._last_s = None

    def _close(self, parent: str, now_s: float) -> int:
        step = self._open.pop(parent, None)
        if step is None or not step.has_content:
            return 0
        self._steps.append(step.closed(now_s - (now_s if self._last_s is None else self._last_s)))
        self._last_s = now_s
        return 1


def shortened(text: str, head: int = HEAD, tail: int = TAIL) -> str:
    """Return a text on one line, without its middle if it is long."""
    # Only the ends are split into words: a result may have megabytes.
    if len(text) > 8 * (head + tail):
        text = f"{text[: 4 * head]}{text[-4 * tail :]}"
        line = " ".join(text.split())
        return f"{line[:head]} […] {line[-tail:]}"
    line = " ".join(text.split())
    return line if len(line) <= head + tail else f"{line[:head]} […] {line[-tail:]}"


def _as_json(data: Mapping[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)
