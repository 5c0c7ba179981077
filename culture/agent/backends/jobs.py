"""What a backend was asked for and has not done yet: one at a time, in order."""

import asyncio
from collections import deque
from dataclasses import dataclass
from enum import Enum, auto

from culture.agent.backends import wording
from culture.agent.contract import ContextChanged, Message


class JobKind(Enum):
    PROMPT = auto()
    COMPACT = auto()
    CLEAR = auto()


@dataclass(frozen=True, slots=True)
class Job:
    kind: JobKind
    text: str = ""

    def failed(self, error: str) -> Message:
        """What is told of it when it will not be done."""
        match self.kind:
            case JobKind.PROMPT:
                return wording.result(error)
            case JobKind.COMPACT:
                return ContextChanged("compacted", error)
            case JobKind.CLEAR:
                return ContextChanged("cleared", error)


class Jobs:
    def __init__(self) -> None:
        self._waiting: deque[Job] = deque()
        self._changed = asyncio.Event()
        self.current: Job | None = None
        # Also while the backend does something that it was not asked for.
        self.is_busy = False

    def add(self, job: Job) -> None:
        self._waiting.append(job)
        self._changed.set()

    async def begin(self) -> Job:
        """The next one, as soon as there is one and nothing else is being done."""
        while self.is_busy or not self._waiting:
            self._changed.clear()
            await self._changed.wait()
        self.is_busy = True
        self.current = self._waiting.popleft()
        return self.current

    def hold(self) -> None:
        """Begin none before `end`."""
        self.is_busy = True

    def end(self) -> Job | None:
        """What was done is done: the current one, or None if it was none of these."""
        job, self.current = self.current, None
        self.is_busy = False
        self._changed.set()
        return job

    def give_up(self) -> list[Job]:
        """None of these will be done: the current one, and those that wait."""
        left = [*([self.current] if self.current else []), *self._waiting]
        self._waiting.clear()
        self.end()
        return left
