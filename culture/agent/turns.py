"""The turns of an agent: who waits, which one runs, how they ended. One at a time."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Request:
    """Something said to the agent that is worth a turn."""

    sender: str
    # None for a direct message.
    channel: str | None
    prompt: str

    @property
    def reply_to(self) -> str:
        return self.channel or self.sender

    @property
    def where(self) -> str:
        return f"in {self.channel}" if self.channel else "in private"


@dataclass(slots=True)
class Turn:
    id: str
    request: Request
    began_s: float
    has_spoken: bool = False


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
        self._waiting: deque[Request] = deque()
        self.current: Turn | None = None
        self.last: Ended | None = None
        self.count = 0

    @property
    def waiting(self) -> tuple[Request, ...]:
        return tuple(self._waiting)

    def add(self, request: Request) -> None:
        self._waiting.append(request)

    def begin(self) -> Turn | None:
        """The next turn, if one waits and none runs. Every turn passes here before it starts."""
        if self.current is not None or not self._waiting:
            return None
        self.current = Turn(self._new_id(), self._waiting.popleft(), self._clock())
        return self.current

    def spoke(self) -> None:
        """The agent said something on IRC."""
        if self.current is not None:
            self.current.has_spoken = True

    def end(self, error: str = "") -> Ended | None:
        """The running turn is over; with an error it failed."""
        turn, self.current = self.current, None
        if turn is None:
            return None
        outcome = "failed" if error else "answered" if turn.has_spoken else "silent"
        self.last = Ended(turn, outcome, self._clock() - turn.began_s, error)
        self.count += 1
        return self.last

    def give_up(self) -> list[Request]:
        """Nobody will be answered any more; these were waiting."""
        given_up = list(self._waiting)
        self._waiting.clear()
        return given_up
