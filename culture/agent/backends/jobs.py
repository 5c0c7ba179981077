"""Queue what a backend is asked to do: one job at a time, in order."""

import asyncio
from collections import deque
from dataclasses import dataclass
from enum import Enum, auto

from culture.agent.backends import wording
from culture.agent.contract import ContextChanged, Effort, Message


class JobKind(Enum):
    """What a job asks for."""

    PROMPT = auto()
    # Continue the turn whose tool call was deferred; the answer to the call is on disk.
    CONTINUE = auto()
    COMPACT = auto()
    CLEAR = auto()


@dataclass(frozen=True, slots=True)
class Job:
    """One thing that a backend is asked to do."""

    kind: JobKind
    text: str = ""
    # Replaces the effort of the session for this job alone.
    effort: Effort | None = None

    def failed(self, error: str) -> Message:
        """Return the message that reports that this job will not be done."""
        match self.kind:
            case JobKind.PROMPT | JobKind.CONTINUE:
                return wording.result(error)
            case JobKind.COMPACT:
                return ContextChanged("compacted", error)
            case JobKind.CLEAR:
                return ContextChanged("cleared", error)


class Jobs:
    """The queue of a backend's jobs, and the job that it is doing."""

    def __init__(self) -> None:
        self._waiting: deque[Job] = deque()
        self._changed = asyncio.Event()
        self.current: Job | None = None
        # Also true while the backend does something that it was not asked for.
        self.is_busy = False

    def add(self, job: Job) -> None:
        """Queue a job."""
        self._waiting.append(job)
        self._changed.set()

    async def begin(self) -> Job:
        """Return the next job as soon as there is one and the backend is idle."""
        while self.is_busy or not self._waiting:
            self._changed.clear()
            await self._changed.wait()
        self.is_busy = True
        self.current = self._waiting.popleft()
        return self.current

    def hold(self) -> None:
        """Begin no job before `end` is called."""
        self.is_busy = True

    def end(self) -> Job | None:
        """End the current job and return it; None if the backend did something that it was not asked for."""
        job, self.current = self.current, None
        self.is_busy = False
        self._changed.set()
        return job

    def give_up(self) -> list[Job]:
        """Empty the queue and return the jobs that will not be done: the current one and those that wait."""
        left = [*([self.current] if self.current else []), *self._waiting]
        self._waiting.clear()
        self.end()
        return left
