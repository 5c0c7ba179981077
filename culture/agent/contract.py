"""What the daemon and a backend owe each other.

A runner hands over what its agent does as dicts, the same for every backend:

    {"type": "assistant", "model": "…", "content": [{"type": "text", "text": "…"},
        {"type": "tool_use", "id": "…", "name": "…", "input": {…}}, {"type": "thinking", "thinking": "…"}]}
    {"type": "result", "failed": False, "error": "", "cost_usd": 0.02, "duration_ms": 900, "usage": {…},
        "asked": True}

Every prompt is followed by exactly one result with `asked` true, also when the backend dies of it. A
result with `asked` false ends a turn that the backend began by itself. Cost is that of this turn alone.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Message = dict[str, Any]


class AgentRunnerBase(ABC):
    """One session of an agent's backend. Both callbacks are set before `start`."""

    on_message: Callable[[Message], Awaitable[None]] | None = None
    # 0 after `stop`, or if the backend ended by itself in peace; anything else is a crash.
    on_exit: Callable[[int], Awaitable[None]] | None = None

    @abstractmethod
    async def start(self, initial_prompt: str = "") -> None:
        """Returns when prompts are taken. Raises what keeps the backend from starting."""

    @abstractmethod
    async def stop(self) -> None:
        """Interrupt what is going on, end the backend, by force if it must be."""

    @abstractmethod
    async def send_prompt(self, text: str) -> None:
        """Queue a prompt and return at once. Prompts are worked on in order."""

    @abstractmethod
    def is_running(self) -> bool: ...

    @property
    @abstractmethod
    def session_id(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class SessionSpec:
    """What a session is to be, whichever backend runs it."""

    directory: Path
    # What the agent is told before anything else: who it is, and how it speaks on IRC.
    briefing: str
    # On top of the daemon's own environment.
    env: Mapping[str, str]
    model: str
    thinking: Literal["off", "low", "medium", "high", "max"]
    permission_mode: Literal["bypass", "deny"]
