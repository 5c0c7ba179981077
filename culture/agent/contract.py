"""The interface between the agent daemon and a backend: message types, the runner and the session's settings.

A runner reports what its agent does as messages of six types, the same for every backend. Each backend
converts its own wire format to them in its own package.

- `Assistant` carries the model's text, its thinking and the tool calls that it makes.
- `ToolResult` carries what a tool returned. It follows the `Assistant` with the `ToolUse` of the same id. A
  tool call that was interrupted, or whose backend died, may have no result.
- `Result` ends a turn. The runner reports exactly one with `asked` true for every prompt, even if the backend
  dies during the turn: then `is_running` is already false when the result is reported, and `on_exit` is
  called next. A result with `asked` false ends a turn that the backend began by itself.
- `ContextChanged` answers every request to compact or to clear, exactly once.
- `UsageReport` says what the running turn used so far, if the backend reports it before the turn ends.
- `RateLimit` says what the provider of the model reports about the quota of the login.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from culture.errors import UnavailableError

# How much the model thinks before it answers.
Effort = Literal["off", "low", "medium", "high", "max"]


@dataclass(frozen=True, slots=True)
class Text:
    """Text that the model wrote for the reader of its turn."""

    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """The model's reasoning, or the summary of it that the backend discloses."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call that the model requests; the permission check may still refuse it."""

    id: str
    name: str
    input: Mapping[str, Any]


Block = Text | Thinking | ToolUse


@dataclass(frozen=True, slots=True)
class Assistant:
    """One message of the model."""

    model: str
    content: tuple[Block, ...]
    # The id of the tool call whose sub-agent wrote this message; empty for the agent itself.
    parent: str = ""

    @property
    def text(self) -> str:
        """Return the text blocks of the message, joined by line ends."""
        return "\n".join(block.text for block in self.content if isinstance(block, Text))

    @property
    def tool_uses(self) -> tuple[ToolUse, ...]:
        """Return the tool calls of the message."""
        return tuple(block for block in self.content if isinstance(block, ToolUse))


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool call returned to the model, as text."""

    # The id of the ToolUse that this answers.
    id: str
    text: str
    # Whether the tool failed or was refused.
    failed: bool = False
    # The id of the tool call whose sub-agent used the tool; empty for the agent itself.
    parent: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that a turn used."""

    # All tokens sent to the model, including the cached ones.
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens,
            self.cached_tokens + other.cached_tokens,
            self.output_tokens + other.output_tokens,
        )


@dataclass(frozen=True, slots=True)
class Result:
    """The end of a turn; the turn failed if there is an error."""

    # One line for people to read.
    error: str = ""
    # The HTTP status of the model's API, if the API failed.
    status: int | None = None
    # Cost of this turn alone; None if the backend does not report it.
    cost_usd: float | None = None
    duration_ms: int = 0
    # Tokens of this turn alone; None if the backend does not report them.
    usage: Usage | None = None
    # The used share of the model's context window, from 0 to 1, if it is known.
    context: float | None = None
    # Whether a prompt started the turn; false if the backend began it by itself.
    asked: bool = True
    # Whether the turn ended because SessionSpec.max_budget_usd was spent.
    is_over_budget: bool = False
    # The tool call that waits for an answer: its judge raised DeferCall. `answer_deferred` goes on with it.
    deferred: ToolUse | None = None

    @property
    def failed(self) -> bool:
        """Return whether the turn failed."""
        return bool(self.error)


@dataclass(frozen=True, slots=True)
class ContextChanged:
    """The answer to a request to compact or to clear the conversation."""

    did: Literal["compacted", "cleared"]
    # Why the backend did not change the context; empty if it did.
    error: str = ""

    @property
    def failed(self) -> bool:
        """Return whether the context was left unchanged."""
        return bool(self.error)


@dataclass(frozen=True, slots=True)
class UsageReport:
    """What the running turn used so far, from its beginning."""

    usage: Usage
    # None if the backend does not report it.
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class RateLimit:
    """What the provider reports about a quota window of the backend's login."""

    # Whether the provider refuses calls until the window resets.
    is_exhausted: bool
    # The provider's name of the window, such as five_hour; empty if it has none.
    window: str = ""
    # The used share of the window, from 0 to 1, if it is known.
    utilization: float | None = None
    # Unix time of the reset, if it is known.
    resets_at_s: float | None = None


Message = Assistant | ToolResult | Result | ContextChanged | UsageReport | RateLimit


@dataclass(frozen=True, slots=True)
class SideAnswer:
    """The answer of a model call outside of the agent's turns, and what the call used."""

    text: str
    usage: Usage = field(default_factory=Usage)
    # None if the backend does not report it.
    cost_usd: float | None = None
    # The name of the model that answered, for a table of prices; empty if the backend does not say.
    model: str = ""


class ToollessModel(ABC):
    """A model that answers single prompts without tools and without a session, such as the supervisor's."""

    @abstractmethod
    async def complete(self, system: str, prompt: str) -> SideAnswer:
        """Return the model's answer to one prompt. Raise CultureError if there is none."""


class AgentRunnerBase(ABC):
    """One session of an agent's backend. The daemon sets the callbacks before it calls `start`."""

    on_message: Callable[[Message], Awaitable[None]] | None = None
    # Receives the exit status: 0 after `stop` or a clean exit; anything else is a crash.
    on_exit: Callable[[int], Awaitable[None]] | None = None

    def look_for_program(self) -> None:
        """Raise UnavailableError if the program that `start` runs is not installed. May take seconds."""
        # Not every backend runs a program.
        return

    @abstractmethod
    async def start(self, initial_prompt: str = "") -> None:
        """Start the backend and return when it accepts prompts.

        Raises UnavailableError if a person has to act before the backend can start, and another CultureError
        if it fails to start for another reason. May be called again after `stop` and after the backend died.
        """

    @abstractmethod
    async def stop(self) -> None:
        """Interrupt the running turn and end the backend with all its child processes, by force if needed."""

    @abstractmethod
    async def send_prompt(self, text: str, *, effort: Effort | None = None) -> None:
        """Queue a prompt and return at once. Prompts run in order and are text, never slash commands.

        `effort` replaces the session's effort for this prompt alone, if the backend can change it.
        """

    @abstractmethod
    async def interrupt(self) -> None:
        """End the running turn early, if there is one. The runner then reports a failed result for it."""

    @abstractmethod
    async def compact(self) -> None:
        """Queue, in order with the prompts, a request to summarise the context to make it smaller."""

    @abstractmethod
    async def clear(self) -> None:
        """Queue, in order with the prompts, a request to clear the context. `session_id` may change."""

    async def ask_aside(self, prompt: str, *, background: str = "") -> SideAnswer:
        """Answer a prompt from what the session knows, without tools and without disturbing a running turn.

        A backend that can fork its session ignores `background`. Any other one answers in a new session, and
        knows only this text there: a summary of the task and of what happened so far.

        Raises CultureError if there is no answer, and UnavailableError if the backend can never do this.
        """
        raise UnavailableError("this backend cannot answer beside its turn")

    async def answer_deferred(self, call_id: str, *, allowed: bool, reason: str = "") -> None:
        """Answer a deferred tool call and continue its turn, which ends with one more asked Result.

        The call runs at most once, also if the backend dies meanwhile. `reason` is for the model to read.
        Raises UnavailableError if no such call is deferred; then the answer has to be sent as a prompt.
        """
        raise UnavailableError(f"the tool call '{call_id}' is not deferred")

    @abstractmethod
    def is_running(self) -> bool:
        """Return whether the backend accepts prompts."""

    @property
    @abstractmethod
    def session_id(self) -> str | None:
        """Return the id that resumes this session as `SessionSpec.resume`; None while there is no session."""


@dataclass(frozen=True, slots=True)
class WatchedTask:
    """What the running turn was asked to do, for the supervisor."""

    # The id of the turn.
    turn: str
    # The messages that started it, and who wrote them where: `spark-ori in #ops`.
    text: str
    source: str


class SupervisorBase(ABC):
    """Watches an agent's turns and comments on them. The daemon sets the callbacks before `start`."""

    # Receives the text, then its kind, such as CORRECTION. The agent reads it at the next call of its skill.
    on_whisper: Callable[[str, str], Awaitable[None]] | None = None
    # Receives a text that is meant for people.
    on_escalation: Callable[[str], Awaitable[None]] | None = None
    # Returns the task of the running turn, or None if no prompt started a turn.
    current_task: Callable[[], WatchedTask | None] | None = None

    @abstractmethod
    async def start(self) -> None:
        """Start the supervisor."""

    @abstractmethod
    async def stop(self) -> None:
        """Stop the supervisor."""

    @abstractmethod
    async def observe(self, turn: Message) -> None:
        """Receive each message of the runner, in order. Return soon: the agent waits meanwhile."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the daemon runs in its own process when the model calls it."""

    name: str
    description: str
    # The JSON schema of the arguments, of type object.
    parameters: Mapping[str, Any]
    # Returns the text for the model. The model reads a CultureError as the tool's failure.
    run: Callable[[Mapping[str, Any]], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    """A tool call for which the backend asks permission."""

    tool: str
    # The shell command, if the tool is a shell; otherwise empty.
    command: str
    input: Mapping[str, Any]
    # The id of the ToolUse, if the backend tells it.
    id: str = ""
    # Whether the judge may raise DeferCall.
    can_defer: bool = False


class DeferCall(Exception):
    """Raised by a judge that has no answer yet: the backend keeps the call on disk and ends the turn.

    The turn ends with Result.deferred. A session that is resumed later defers the same call again and reports
    that in a Result with `asked` false. A prompt that is sent meanwhile drops the call.
    """


# Returns whether the call is allowed and, if not, the reason that the model reads. The backend waits for it
# without a time limit.
Judge = Callable[[PermissionRequest], Awaitable[tuple[bool, str]]]


@dataclass(frozen=True, slots=True)
class SessionSpec:
    """The settings of a session, the same for every backend."""

    directory: Path
    # The system prompt: who the agent is and how it uses IRC.
    briefing: str
    # Variables added to the daemon's own environment.
    env: Mapping[str, str]
    model: str
    thinking: Effort
    # Decides on every tool call; None: only the rights of the agent's Unix user limit it.
    judge: Judge | None = None
    # Id of the session to resume. If it is empty, or the backend no longer has the session, a new one begins.
    resume: str = ""
    # Variables that the program needs and the commands that it runs must not see, such as API keys.
    secret_variables: tuple[str, ...] = ()
    # The command line to run instead of the backend's usual program. For acp it may be the name of a profile.
    command: tuple[str, ...] = ()
    # Tools that the daemon offers to the model, if the backend supports tools in the same process.
    tools: tuple[Tool, ...] = ()
    # With a judge: whether the model is offered only a shell and the daemon's tools; otherwise, it has all
    # tools of the backend. In both cases the judge decides on each call.
    is_locked: bool = True
    # A directory that outlives the daemon, for deferred calls and their answers; None: no call is deferred.
    deferrals: Path | None = None
    # What the backend may spend until it is started again, if it can limit that itself; None: no limit.
    max_budget_usd: float | None = None
