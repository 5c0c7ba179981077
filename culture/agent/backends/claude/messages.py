"""What the SDK says, in the words of the contract."""

from collections.abc import Sequence
from typing import Any

from claude_agent_sdk import (
    AssistantMessage,
    ContentBlock,
    ResultMessage,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)

from culture.agent.contract import Message

_API_ERRORS = {
    401: "the API of the model refuses the key",
    403: "the API of the model refuses the request",
    429: "the rate limit of the model is reached",
    529: "the model is overloaded",
}


def assistant(message: AssistantMessage) -> Message:
    content = [block for block in map(_block, message.content) if block is not None]
    return {"type": "assistant", "model": message.model, "content": content}


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


def result(message: ResultMessage, cost_before_usd: float) -> Message:
    """The total cost grows with the session; what it was before this turn makes it this turn's."""
    total = message.total_cost_usd
    return {
        "type": "result",
        "failed": message.is_error,
        "error": error_of(message) if message.is_error else "",
        "cost_usd": None if total is None else max(total - cost_before_usd, 0.0),
        "duration_ms": message.duration_ms,
        "usage": message.usage or {},
        "asked": is_asked(message),
    }


def is_asked(message: ResultMessage) -> bool:
    """False for what the CLI began by itself, such as looking at a background command that ended."""
    return message.origin is None or message.origin.get("kind") == "human"


def error_of(message: ResultMessage) -> str:
    status = message.api_error_status
    if status is not None:
        return f"{_API_ERRORS.get(status, 'an error of the API of the model')} (status {status})"
    words = "; ".join(message.errors or []) or message.result or message.subtype
    return " ".join(words.split())


def crash(code: int, last_words: Sequence[str]) -> Message:
    """The result of a turn that the CLI did not live to end."""
    how = f"was killed by signal {-code}" if code < 0 else f"ended with status {code}"
    words = f": {last_words[-1]}" if last_words else ""
    return {
        "type": "result",
        "failed": True,
        "error": f"the claude program {how}{words}",
        "cost_usd": None,
        "duration_ms": 0,
        "usage": {},
        "asked": True,
    }
