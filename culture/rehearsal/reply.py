"""What the model does in one reply, as values that no wire format knows about."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ReplyText:
    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    name: str
    input: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Delay:
    seconds: float


@dataclass(frozen=True, slots=True)
class Fail:
    """Before any content this is the HTTP status; after that, the stream ends with an error."""

    status: int
    message: str
    # Empty: the one that the wire format has for this status.
    type: str = ""


@dataclass(frozen=True, slots=True)
class Drop:
    """The connection closes in the middle of the reply."""


@dataclass(frozen=True, slots=True)
class Stall:
    """The connection stays open and silent until the other side gives up."""


Content = ReplyText | ToolCall
Fault = Fail | Drop | Stall
ReplyStep = Content | Delay | Fault
Reply = tuple[ReplyStep, ...]


def content_of(reply: Reply) -> list[Content]:
    """Texts and tool calls, in order; texts with no tool call between them are one."""
    content: list[Content] = []
    for step in reply:
        match step:
            case ReplyText(text) if content and isinstance(content[-1], ReplyText):
                content[-1] = ReplyText(content[-1].text + text)
            case ReplyText() | ToolCall():
                content.append(step)
            case Delay() | Fail() | Drop() | Stall():
                pass
    return content
