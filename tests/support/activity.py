"""What an agent does, as the messages that its backend reports."""

from collections.abc import Sequence

from culture.agent.contract import Assistant, Message, Text, ToolResult, ToolUse, WatchedTask
from culture.agent.supervision.window import Step, Window

TASK = WatchedTask("t1", "benchmark nemotron", "spark-ori in #general")


def call(command: str, result: str, *, failed: bool = False, parent: str = "") -> list[Message]:
    """One step with one tool call."""
    return [
        Assistant("m", (ToolUse("1", "Bash", {"command": command}),), parent),
        ToolResult("1", result, failed, parent),
    ]


def text(words: str) -> list[Message]:
    """One step in which the model only writes."""
    return [Assistant("m", (Text(words),))]


def steps_of(messages: Sequence[Message], *, size: int = 20, task: WatchedTask | None = TASK) -> list[Step]:
    """The complete steps of one turn."""
    window = Window(size)
    add(window, messages, task)
    window.turn_ended(0.0)
    return list(window.steps)


def add(window: Window, messages: Sequence[Message], task: WatchedTask | None = TASK) -> int:
    """Add messages to a window and return how many steps they completed."""
    completed = 0
    for message in messages:
        if isinstance(message, Assistant):
            completed += window.said(message, task, 0.0)
        elif isinstance(message, ToolResult):
            completed += window.returned(message, 0.0)
    return completed
