"""What the daemon and a backend owe each other.

A runner hands over what its agent does as dicts, the same for every backend:

    {"type": "assistant", "model": "…", "content": [{"type": "text", "text": "…"},
        {"type": "tool_use", "id": "…", "name": "…", "input": {…}}, {"type": "thinking", "thinking": "…"}]}
    {"type": "result", "failed": False, "error": "", "status": None, "cost_usd": 0.02, "duration_ms": 900,
        "usage": {"input_tokens": 900, "cached_tokens": 800, "output_tokens": 40}, "context": 0.12,
        "asked": True}
    {"type": "context", "did": "compacted" | "cleared", "failed": False, "error": ""}

Every prompt is followed by exactly one result with `asked` true, also when the backend dies of it: then
`is_running` is false already when it is told, and `on_exit` comes next. A result with `asked` false ends
a turn that the backend began by itself. `status` is the HTTP status of the model's API if that is what
failed. Cost and usage are those of this turn alone, None and {} where the backend does not tell; cached
tokens are among those of the input. `context` is the share of the model's context that is full, or None.
A request to compact or to clear is followed by exactly one `context`.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Message = dict[str, Any]


class AgentRunnerBase(ABC):
    """One session of an agent's backend. The callbacks are set before `start`."""

    on_message: Callable[[Message], Awaitable[None]] | None = None
    # 0 after `stop`, or if the backend ended by itself in peace; anything else is a crash.
    on_exit: Callable[[int], Awaitable[None]] | None = None

    def look_for_program(self) -> None:
        """Raises UnavailableError if what `start` would run is not on this host. May take seconds."""
        # Not every backend has one.
        return

    @abstractmethod
    async def start(self, initial_prompt: str = "") -> None:
        """Returns when prompts are taken. Raises what keeps the backend from starting.

        That is an UnavailableError if a person has to do something first.

        Can be called again after `stop`, and after the backend died.
        """

    @abstractmethod
    async def stop(self) -> None:
        """Interrupt what is going on, end the backend, by force if it must be, and all that it started."""

    @abstractmethod
    async def send_prompt(self, text: str) -> None:
        """Queue a prompt and return at once. They are worked on in order, and are text, never commands."""

    @abstractmethod
    async def interrupt(self) -> None:
        """End the running turn early. Its result follows, failed. Nothing happens if none runs."""

    @abstractmethod
    async def compact(self) -> None:
        """Queue, among the prompts, that the backend sum up its context in its own way."""

    @abstractmethod
    async def clear(self) -> None:
        """Queue, among the prompts, that the backend forget the conversation. `session_id` may change."""

    @abstractmethod
    def is_running(self) -> bool: ...

    @property
    @abstractmethod
    def session_id(self) -> str | None:
        """What `SessionSpec.resume` takes to go on with this conversation. None while none is going on."""


class SupervisorBase(ABC):
    """Watches an agent's turns, and says what it thinks of them. The callbacks are set before `start`."""

    # The text, then its kind, such as CORRECTION. It reaches the agent with the next call of its skill.
    on_whisper: Callable[[str, str], Awaitable[None]] | None = None
    on_escalation: Callable[[str], Awaitable[None]] | None = None

    @abstractmethod
    async def start(self) -> None: ...

    @abstractmethod
    async def stop(self) -> None: ...

    @abstractmethod
    async def observe(self, turn: Message) -> None:
        """Each message of the runner, in order. Never holds up the agent for long."""


@dataclass(frozen=True, slots=True)
class Tool:
    """Something the daemon does for its agent without a shell in between."""

    name: str
    description: str
    # A JSON schema of an object.
    parameters: Mapping[str, Any]
    # The text for the model. A CultureError is told to the model as the tool's failure.
    run: Callable[[Mapping[str, Any]], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    """Something the agent wants to do that its backend asks about first."""

    tool: str
    # The shell command, if that is what it is.
    command: str
    input: Mapping[str, Any]


# Whether it may, and the reason that the model reads if not.
Judge = Callable[[PermissionRequest], Awaitable[tuple[bool, str]]]


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
    # Asked before everything the agent does; None: its user's rights are the only bound.
    judge: Judge | None = None
    # The session to go on with, if the backend still has it; otherwise, and if empty, a new one begins.
    resume: str = ""
    # What to start, in place of the program that the backend looks for. For acp also a profile's name alone.
    command: tuple[str, ...] = ()
    # Offered to the model in the process of the daemon, where the backend can.
    tools: tuple[Tool, ...] = ()
