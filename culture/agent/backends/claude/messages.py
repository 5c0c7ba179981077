"""Convert the messages of claude-agent-sdk to those of the contract."""

import json
from collections.abc import Mapping
from typing import Any, Final

from claude_agent_sdk import (
    AssistantMessage,
    ContentBlock,
    ResultMessage,
    ServerToolResultBlock,
    ServerToolUseBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)

from culture.agent.backends import wording
from culture.agent.backends.claude import tools
from culture.agent.contract import Assistant, Block, Result, Text, Thinking, ToolResult, ToolUse, Usage

# What the CLI gives as the model of words of its own.
NO_MODEL: Final = "<synthetic>"


def assistant(message: AssistantMessage) -> Assistant:
    content = tuple(block for block in map(_block, message.content) if block is not None)
    return Assistant(message.model, content, message.parent_tool_use_id or "")


def text_of(message: AssistantMessage) -> str:
    return " ".join(block.text for block in message.content if isinstance(block, TextBlock))


def tool_results(message: UserMessage | AssistantMessage) -> list[ToolResult]:
    """The results in a message: the CLI's tools report as the user, tools of the API as the assistant."""
    if isinstance(message.content, str):
        return []
    parent = message.parent_tool_use_id or ""
    results = []
    for block in message.content:
        match block:
            case ToolResultBlock(id, content, is_error):
                # None stands for success, too.
                results.append(ToolResult(id, _result_text(content), bool(is_error), parent))
            case ServerToolResultBlock(id, content):
                results.append(ToolResult(id, _result_text(content), parent=parent))
            case _:
                continue
    return results


def _block(block: ContentBlock) -> Block | None:
    match block:
        case TextBlock(text):
            return Text(text)
        case ThinkingBlock(thinking):
            return Thinking(thinking)
        case ToolUseBlock(id, name, input) | ServerToolUseBlock(id, name, input):
            return ToolUse(id, tools.own_name(name), input)
        case _:
            return None


def _result_text(content: str | list[dict[str, Any]] | dict[str, Any] | None) -> str:
    match content:
        case None:
            return ""
        case str():
            return content
        case list():
            return "\n".join(map(_part_text, content))
        case _:
            return json.dumps(content, ensure_ascii=False)


def _part_text(part: Mapping[str, Any]) -> str:
    return str(part["text"]) if part.get("type") == "text" else f"[{part.get('type', 'data')}]"


def result(
    message: ResultMessage, cost_before_usd: float | None, last: AssistantMessage | None, *, asked: bool
) -> Result:
    """The total cost grows with the session; what it was before this turn makes it this turn's.

    `last` is what the model said last, whose usage tells how much of its context is full.
    """
    return wording.result(
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
        return wording.INTERRUPTED
    if not message.is_error:
        return ""
    if message.api_error_status is not None:
        return wording.api_error(message.api_error_status)
    told = "; ".join(message.errors or []) or message.result or message.subtype
    return " ".join(told.split())


def _cost(total: float | None, before: float | None) -> float | None:
    return None if total is None or before is None else max(total - before, 0.0)


def _usage(told: Mapping[str, Any] | None) -> Usage | None:
    if told is None:
        return None
    return Usage(_given(told), told.get("cache_read_input_tokens", 0), told.get("output_tokens", 0))


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
