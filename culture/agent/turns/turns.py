"""Track the running turn of an agent, its activity, and the outcome of the last one."""

import math
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from culture.agent.contract import Assistant, Text, Thinking, ToolResult, ToolUse
from culture.agent.turns.interruption import OUTCOMES, Fate, Interruption
from culture.store.agent.queue import QueuedMessage, QueueEntry

# The stall timeout is this many times longer while a tool runs, because a build can take long.
TOOL_STALL_FACTOR: Final = 12
# The longest name of a task in alerts.
TASK_LENGTH: Final = 60


def task_name(entries: Sequence[QueueEntry]) -> str:
    """Return the beginning of the first message as the name of a task."""
    return textwrap.shorten(entries[0].question.text, TASK_LENGTH, placeholder=" …")


@dataclass(slots=True)
class Turn:
    """One run of the backend, from the prompt to the result."""

    id: str
    entries: tuple[QueueEntry, ...]
    began_s: float
    has_spoken: bool = False
    # Why the turn is being interrupted; None if it is not.
    interruption: Interruption | None = None
    # How many calls of the turn wait for the answer to a question.
    waits: int = 0
    # Monotonic time of the last sign of life.
    last_activity_s: float = field(init=False)
    # The text blocks that the model wrote since its last tool call.
    _final: list[str] = field(default_factory=list)
    # The ids of the tool calls that have not returned.
    _open_tools: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.last_activity_s = self.began_s

    @property
    def question(self) -> QueuedMessage:
        """Return the first of the messages that this turn answers."""
        return self.entries[0].question

    @property
    def task(self) -> str:
        """Return the beginning of what was asked, as a name for people."""
        return task_name(self.entries)

    @property
    def is_stopped(self) -> bool:
        """Return whether somebody stopped the turn."""
        return self.interruption is not None and self.interruption.fate is Fate.STOPPED

    @property
    def senders(self) -> str:
        """Return the nicks of everyone whose messages this turn answers."""
        return ", ".join(dict.fromkeys(entry.question.sender for entry in self.entries))

    @property
    def where(self) -> str:
        """Return `in #channel`, or `in private` for direct messages."""
        return f"in {self.question.channel}" if self.question.channel else "in private"

    def said(self, message: Assistant, now_s: float) -> None:
        """Record a message of the model."""
        self.record_activity(now_s)
        if not message.parent:
            self._collect_final_text(message)
        if message.tool_uses:
            self._open_tools.update(use.id for use in message.tool_uses)
        elif not message.parent:
            # The model continues only when all tools have returned, even if a result was not reported.
            self._open_tools.clear()

    def _collect_final_text(self, message: Assistant) -> None:
        for block in message.content:
            match block:
                case Text(text):
                    self._final.append(text)
                case ToolUse():
                    self._final.clear()
                case Thinking():
                    continue

    @property
    def final_text(self) -> str:
        """Return the text that the model wrote after its last tool call."""
        return "\n".join(self._final).strip()

    def returned(self, result: ToolResult, now_s: float) -> None:
        """Record the result of a tool call."""
        self.record_activity(now_s)
        self._open_tools.discard(result.id)

    def record_activity(self, now_s: float) -> None:
        """Restart the stall timeout."""
        self.last_activity_s = now_s

    def stalls_at_s(self, timeout_s: float) -> float:
        """Return the time at which the turn counts as stalled unless there is activity before.

        A turn that waits for the answer to a question does not stall.
        """
        if self.waits:
            return math.inf
        return self.last_activity_s + timeout_s * (TOOL_STALL_FACTOR if self._open_tools else 1)


@dataclass(frozen=True, slots=True)
class EndedTurn:
    """A finished turn and its outcome."""

    turn: Turn
    # `answered`, `silent`, `failed`, `interrupted` or `stopped`.
    outcome: str
    duration_s: float
    error: str


class Turns:
    """The running turn, the last turn and the number of turns. At most one turn runs at a time."""

    def __init__(self, *, clock: Callable[[], float], new_id: Callable[[], str]) -> None:
        self._clock = clock
        self._new_id = new_id
        self.current: Turn | None = None
        self.last: EndedTurn | None = None
        self.count = 0

    def begin(self, entries: Sequence[QueueEntry]) -> Turn:
        """Begin a turn that answers these messages."""
        assert self.current is None
        self.current = Turn(self._new_id(), tuple(entries), self._clock())
        return self.current

    def said(self, message: Assistant) -> None:
        """Record a message of the model in the running turn, if there is one."""
        if self.current is not None:
            self.current.said(message, self._clock())

    def returned(self, result: ToolResult) -> None:
        """Record the result of a tool call in the running turn, if there is one."""
        if self.current is not None:
            self.current.returned(result, self._clock())

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Keep the running turn, if there is one, from being interrupted while it waits for an answer."""
        turn = self.current
        if turn is None:
            yield
            return
        turn.waits += 1
        try:
            yield
        finally:
            turn.waits -= 1
            turn.record_activity(self._clock())

    def agent_spoke(self) -> None:
        """Record that the agent wrote on IRC in the running turn."""
        if self.current is not None:
            self.current.has_spoken = True
            self.current.record_activity(self._clock())

    def end(self, error: str = "") -> EndedTurn | None:
        """End the running turn, as failed if there is an error. Return None if no turn runs."""
        turn, self.current = self.current, None
        if turn is None:
            return None
        self.last = EndedTurn(turn, _outcome(turn, error), self._clock() - turn.began_s, error)
        self.count += 1
        return self.last


def _outcome(turn: Turn, error: str) -> str:
    if not error and not turn.is_stopped:
        return "answered" if turn.has_spoken else "silent"
    return OUTCOMES[turn.interruption.fate] if turn.interruption else "failed"
