"""The part of a request to the model that a script can look at."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool returned, and the call that it answers."""

    tool: str
    # What was run, for a tool that runs commands.
    command: str
    output: str
    has_failed: bool = False


@dataclass(frozen=True, slots=True)
class ModelConversation:
    """A conversation that the model is asked to continue."""

    model: str
    # What the user said last, without what the CLI adds for the model's information.
    prompt: str
    # The tools that the model is offered.
    tools: tuple[str, ...] = ()
    # Set when the conversation ends with the result of a tool: the turn goes on.
    result: ToolOutput | None = None
