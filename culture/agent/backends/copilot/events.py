"""Convert what the CLI reports of a session to the messages of the contract."""

from collections.abc import Mapping
from typing import Any, Final

from culture.agent.backends import wording
from culture.agent.contract import (
    Assistant,
    Block,
    Message,
    PermissionRequest,
    Result,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    Usage,
)

Data = Mapping[str, Any]

# The CLI itself tries for a minute. What is tried again later is up to the daemon, and people want to know.
RETRIES: Final = 2


class CopilotTurn:
    """What is known of a turn by its events, until the session is idle again."""

    def __init__(self) -> None:
        self.has_begun = False
        # Whether the API has failed often enough for us.
        self.is_hopeless = False
        self.error = ""
        self.status: int | None = None
        self._input = self._cached = self._output = 0

    def add(self, kind: str, data: Data) -> Message | None:
        """What the event has to tell, if it has."""
        match kind:
            case "assistant.message":
                # Whatever went wrong before, the model has answered since.
                self.has_begun, self.error, self.status = True, "", None
                return assistant(data)
            case "tool.execution_complete":
                return tool_result(data)
            case "assistant.usage":
                self._input += int(data.get("inputTokens") or 0)
                self._cached += int(data.get("cacheReadTokens") or 0)
                self._output += int(data.get("outputTokens") or 0)
            case "model.call_failure":
                if int(data.get("retryAttempt") or 0) >= RETRIES:
                    self.is_hopeless = True
                    self._failed(data.get("errorMessage"), data.get("statusCode"))
            case "session.error":
                self._failed(data.get("message") or data.get("errorType"), data.get("statusCode"))
            case "session.idle":
                if data.get("aborted") and not self.is_hopeless:
                    self.error, self.status = wording.INTERRUPTED, None
        return None

    def _failed(self, why: Any, status: Any) -> None:
        self.error = str(why or "no reason given")
        self.status = status if isinstance(status, int) and status >= 400 else None

    def result(self, duration_ms: int, context: float | None, *, asked: bool = True) -> Result:
        """Without cost: the CLI counts requests, not dollars."""
        used = Usage(self._input, self._cached, self._output) if self._input else None
        return wording.result(
            self.error, status=self.status, duration_ms=duration_ms, usage=used, context=context, asked=asked
        )


def assistant(data: Data) -> Assistant | None:
    content: list[Block] = []
    if thinking := data.get("reasoningText"):
        content.append(Thinking(str(thinking)))
    if text := data.get("content"):
        content.append(Text(str(text)))
    for call in data.get("toolRequests") or ():
        given = call.get("arguments")
        name, arguments = str(call.get("name")), given if isinstance(given, dict) else {}
        content.append(ToolUse(str(call.get("toolCallId")), name, arguments))
    parent = str(data.get("parentToolCallId") or "")
    return Assistant(str(data.get("model", "")), tuple(content), parent) if content else None


def tool_result(data: Data) -> ToolResult:
    """From tool.execution_complete."""
    result, error = data.get("result") or {}, data.get("error") or {}
    text = str(result.get("content") or error.get("message") or "")
    parent = str(data.get("parentToolCallId") or "")
    return ToolResult(str(data.get("toolCallId")), text, not data.get("success", True), parent)


def context_of(data: Data) -> float | None:
    """From session.usage_info."""
    match data:
        case {"currentTokens": int(current), "tokenLimit": int(limit)} if limit:
            return current / limit
        case _:
            return None


def request_of(asked: Data) -> PermissionRequest:
    """What the CLI wants to do, from permission.requested."""
    match asked:
        case {"kind": "shell", "fullCommandText": str(command)}:
            return PermissionRequest("bash", command, asked)
        case {"kind": "custom-tool", "toolName": str(tool)}:
            return PermissionRequest(tool, "", asked.get("args") or {})
        case _:
            return PermissionRequest(str(asked.get("kind", "")), "", asked)
