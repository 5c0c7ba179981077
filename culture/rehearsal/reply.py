"""The steps of one reply of the model, independent of the wire format."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ReplyText:
    """The model writes a text."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The model calls a tool."""

    name: str
    input: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Delay:
    """The model pauses."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Fail:
    """The API fails: with this HTTP status before any content, with an error in the stream after that."""

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
    """Return texts and tool calls in order. Texts without a tool call between them are joined."""
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
