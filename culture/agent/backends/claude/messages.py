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
from culture.agent.backends.claude.control import Totals, totals_of
from culture.agent.contract import Assistant, Block, Result, Text, Thinking, ToolResult, ToolUse, Usage

# What the CLI gives as the model of words of its own.
NO_MODEL: Final = "<synthetic>"
_OVER_BUDGET: Final = "error_max_budget_usd"


def assistant(message: AssistantMessage) -> Assistant:
    """Convert a message of the model."""
    content = tuple(block for block in map(_block, message.content) if block is not None)
    return Assistant(message.model, content, message.parent_tool_use_id or "")


def text_of(message: AssistantMessage) -> str:
    """Return the text in a message."""
    return " ".join(block.text for block in message.content if isinstance(block, TextBlock))


def tool_results(message: UserMessage | AssistantMessage) -> list[ToolResult]:
    """Return the tool results in a message: the CLI reports them as the user's, the API as the model's."""
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
    message: ResultMessage, before: Totals | None, last: AssistantMessage | None, *, asked: bool
) -> Result:
    """Return the result of a turn.

    The totals of the message grow with the session; `before` are those at the beginning of the turn, if they
    are known. `last` is what the model said last, whose usage tells how full its context is.
    """
    used = totals_of(message.total_cost_usd, message.model_usage).since(before) if before else None
    return wording.result(
        error_of(message),
        status=message.api_error_status if message.is_error else None,
        cost_usd=used.cost_usd if used and message.total_cost_usd is not None else None,
        duration_ms=message.duration_ms,
        # The totals include sub-agents, and the last call of a turn that ran out of budget.
        usage=used.usage if used and message.model_usage is not None else _usage(message.usage),
        context=_context(message, last),
        asked=asked,
        is_over_budget=message.subtype == _OVER_BUDGET,
        deferred=_deferred(message),
    )


def _deferred(message: ResultMessage) -> ToolUse | None:
    use = message.deferred_tool_use
    return None if use is None else ToolUse(use.id, tools.own_name(use.name), use.input)


def is_asked(message: ResultMessage) -> bool:
    """Return false for what the CLI began by itself, such as a look at a background command that ended."""
    return message.origin is None or message.origin.get("kind") == "human"


def error_of(message: ResultMessage) -> str:
    """Return why the turn failed; empty if it did not."""
    if (message.terminal_reason or "").startswith("aborted"):
        return wording.INTERRUPTED
    if not message.is_error:
        return ""
    if message.api_error_status is not None:
        return wording.api_error(message.api_error_status)
    if message.subtype == _OVER_BUDGET:
        return wording.OVER_BUDGET
    told = "; ".join(message.errors or []) or message.result or message.subtype
    return " ".join(told.split())


def _usage(told: Mapping[str, Any] | None) -> Usage | None:
    if told is None:
        return None
    return Usage(_given(told), told.get("cache_read_input_tokens", 0), told.get("output_tokens", 0))


def _given(usage: Mapping[str, Any]) -> int:
    """Return all input tokens: the API counts apart what it read from its cache and what it put there."""
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
