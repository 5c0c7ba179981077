"""What the SDK says, in the words of the contract."""

from collections.abc import Mapping
from typing import Any, Final

from claude_agent_sdk import (
    AssistantMessage,
    ContentBlock,
    ResultMessage,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)

from culture.agent.backends import words
from culture.agent.contract import Message

# What the CLI gives as the model of words of its own.
NO_MODEL: Final = "<synthetic>"


def assistant(message: AssistantMessage) -> Message:
    content = [block for block in map(_block, message.content) if block is not None]
    return {"type": "assistant", "model": message.model, "content": content}


def text_of(message: AssistantMessage) -> str:
    return " ".join(block.text for block in message.content if isinstance(block, TextBlock))


def _block(block: ContentBlock) -> dict[str, Any] | None:
    match block:
        case TextBlock(text):
            return {"type": "text", "text": text}
        case ThinkingBlock(thinking):
            return {"type": "thinking", "thinking": thinking}
        case ToolUseBlock(id, name, input):
            return {"type": "tool_use", "id": id, "name": name, "input": input}
        case _:
            return None


def result(
    message: ResultMessage, cost_before_usd: float | None, last: AssistantMessage | None, *, asked: bool
) -> Message:
    """The total cost grows with the session; what it was before this turn makes it this turn's.

    `last` is what the model said last, whose usage tells how much of its context is full.
    """
    return words.result(
        error_of(message),
        status=message.api_error_status if message.is_error else None,
        cost_usd=_cost(message.total_cost_usd, cost_before_usd),
        duration_ms=message.duration_ms,
        usage=_usage(message.usage),
        context=_context(message, last),
        asked=asked,
    )


def is_asked(message: ResultMessage) -> bool:
    """False for what the CLI began by itself, such as looking at a background command that ended."""
    return message.origin is None or message.origin.get("kind") == "human"


def error_of(message: ResultMessage) -> str:
    """Empty if nothing went wrong."""
    if (message.terminal_reason or "").startswith("aborted"):
        return words.INTERRUPTED
    if not message.is_error:
        return ""
    if message.api_error_status is not None:
        return words.api_error(message.api_error_status)
    told = "; ".join(message.errors or []) or message.result or message.subtype
    return " ".join(told.split())


def _cost(total: float | None, before: float | None) -> float | None:
    return None if total is None or before is None else max(total - before, 0.0)


def _usage(told: Mapping[str, Any] | None) -> dict[str, int]:
    if told is None:
        return {}
    return words.usage(_given(told), told.get("cache_read_input_tokens", 0), told.get("output_tokens", 0))


def _given(usage: Mapping[str, Any]) -> int:
    """The API counts apart what it read from its cache and what it put there."""
    kinds = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return sum(usage.get(kind) or 0 for kind in kinds)


def _context(message: ResultMessage, last: AssistantMessage | None) -> float | None:
    if last is None or last.usage is None:
        return None
    model = (message.model_usage or {}).get(last.model)
    if model is None:
        return None
    filled: int = _given(last.usage) + last.usage.get("output_tokens", 0)
    return filled / model["contextWindow"]
