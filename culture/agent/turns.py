"""The turns of an agent: which one runs, whether it lives, how the last one ended. One at a time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from culture.store.agent.queue import Entry, Question

TOOL_PATIENCE: Final = 12
"""How many times as long a turn may be silent while the agent uses a tool: a build takes its time."""


@dataclass(slots=True)
class Turn:
    id: str
    entries: tuple[Entry, ...]
    began_s: float
    has_spoken: bool = False
    is_interrupted: bool = False
    _sign_s: float = field(init=False)
    _is_in_tool: bool = False

    def __post_init__(self) -> None:
        self._sign_s = self.began_s

    @property
    def question(self) -> Question:
        """The first of those that are answered together."""
        return self.entries[0].question

    @property
    def senders(self) -> str:
        return ", ".join(dict.fromkeys(entry.question.sender for entry in self.entries))

    @property
    def where(self) -> str:
        return f"in {self.question.channel}" if self.question.channel else "in private"

    def shows_life(self, now_s: float, content: Sequence[dict[str, Any]] = ()) -> None:
        """The backend did something, and this is what it is about to do."""
        self._sign_s = now_s
        self._is_in_tool = any(block["type"] == "tool_use" for block in content)

    def stalls_at_s(self, patience_s: float) -> float:
        """When it will have been silent for too long."""
        return self._sign_s + patience_s * (TOOL_PATIENCE if self._is_in_tool else 1)


@dataclass(frozen=True, slots=True)
class Ended:
    turn: Turn
    outcome: str
    duration_s: float
    error: str


class Turns:
    def __init__(self, *, clock: Callable[[], float], new_id: Callable[[], str]) -> None:
        self._clock = clock
        self._new_id = new_id
        self.current: Turn | None = None
        self.last: Ended | None = None
        self.count = 0

    def begin(self, entries: Sequence[Entry]) -> Turn:
        assert self.current is None
        self.current = Turn(self._new_id(), tuple(entries), self._clock())
        return self.current

    def spoke(self) -> None:
        """The agent said something on IRC."""
        if self.current is not None:
            self.current.has_spoken = True
            self.current.shows_life(self._clock())

    def end(self, error: str = "") -> Ended | None:
        """The running turn is over; with an error it failed."""
        turn, self.current = self.current, None
        if turn is None:
            return None
        outcome = "failed" if error else "answered" if turn.has_spoken else "silent"
        self.last = Ended(turn, outcome, self._clock() - turn.began_s, error)
        self.count += 1
        return self.last
