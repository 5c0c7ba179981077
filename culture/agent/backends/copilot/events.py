"""Convert what the CLI reports of a session to the messages of the contract."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from culture.agent.backends import wording
from culture.agent.contract import (
    Assistant,
    Block,
    Message,
    PermissionRequest,
    RateLimit,
    Result,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    Usage,
    UsageReport,
)

Data = Mapping[str, Any]

# The CLI itself tries for a minute. What is tried again later is up to the daemon, and people want to know.
RETRIES: Final = 2


class CopilotTurn:
    """What the events of a turn said so far, until the session is idle again."""

    def __init__(self) -> None:
        self.has_begun = False
        # Whether the API has failed often enough for us.
        self.is_hopeless = False
        self.error = ""
        self.status: int | None = None
        self._input = self._cached = self._output = 0

    def add(self, kind: str, data: Data) -> list[Message]:
        """Take an event and return what has to be reported."""
        match kind:
            case "assistant.message":
                # Whatever went wrong before, the model has answered since.
                self.has_begun, self.error, self.status = True, "", None
                said = assistant(data)
                return [said] if said is not None else []
            case "tool.execution_complete":
                return [tool_result(data)]
            case "assistant.usage":
                self._input += int(data.get("inputTokens") or 0)
                self._cached += int(data.get("cacheReadTokens") or 0)
                self._output += int(data.get("outputTokens") or 0)
                return [*rate_limits(data), UsageReport(self._usage)]
            case "model.call_failure":
                if int(data.get("retryAttempt") or 0) >= RETRIES:
                    self.is_hopeless = True
                    self._failed(data.get("errorMessage"), data.get("statusCode"))
            case "session.error":
                self._failed(data.get("message") or data.get("errorType"), data.get("statusCode"))
            case "session.idle":
                if data.get("aborted") and not self.is_hopeless:
                    self.error, self.status = wording.INTERRUPTED, None
        return []

    @property
    def _usage(self) -> Usage:
        return Usage(self._input, self._cached, self._output)

    def _failed(self, why: Any, status: Any) -> None:
        self.error = str(why or "no reason given")
        self.status = status if isinstance(status, int) and status >= 400 else None

    def result(self, duration_ms: int, context: float | None, *, asked: bool = True) -> Result:
        """Return the result of the turn, without its cost: the CLI counts requests, not dollars."""
        used = self._usage if self._input else None
        return wording.result(
            self.error, status=self.status, duration_ms=duration_ms, usage=used, context=context, asked=asked
        )


def assistant(data: Data) -> Assistant | None:
    """Convert assistant.message; None if it is empty."""
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
    """Convert tool.execution_complete."""
    result, error = data.get("result") or {}, data.get("error") or {}
    text = str(result.get("content") or error.get("message") or "")
    parent = str(data.get("parentToolCallId") or "")
    return ToolResult(str(data.get("toolCallId")), text, not data.get("success", True), parent)


def context_of(data: Data) -> float | None:
    """Return how full the context is, from session.usage_info."""
    match data:
        case {"currentTokens": int(current), "tokenLimit": int(limit)} if limit:
            return current / limit
        case _:
            return None


def request_of(asked: Data) -> PermissionRequest:
    """Return what the CLI wants to do, from permission.requested."""
    id = str(asked.get("toolCallId") or "")
    match asked:
        case {"kind": "shell", "fullCommandText": str(command)}:
            return PermissionRequest("bash", command, asked, id)
        case {"kind": "custom-tool", "toolName": str(tool)}:
            return PermissionRequest(tool, "", asked.get("args") or {}, id)
        case _:
            return PermissionRequest(str(asked.get("kind", "")), "", asked, id)


def rate_limits(data: Data) -> list[RateLimit]:
    """Return the quotas of a plan, from assistant.usage. The CLI has none with a provider of one's own."""
    snapshots = data.get("quotaSnapshots") or {}
    return [_rate_limit(name, each) for name, each in snapshots.items() if not _is_unlimited(each)]


def _is_unlimited(snapshot: Data) -> bool:
    return bool(snapshot.get("isUnlimitedEntitlement"))


def _rate_limit(name: str, snapshot: Data) -> RateLimit:
    left = snapshot.get("remainingPercentage")
    goes_on = snapshot.get("usageAllowedWithExhaustedQuota") or snapshot.get(
        "overageAllowedWithExhaustedQuota"
    )
    is_exhausted = left is not None and left <= 0 and not goes_on
    used = None if left is None else 1 - left / 100
    return RateLimit(is_exhausted, name, used, _unix_time(snapshot.get("resetDate")))


def _unix_time(date: Any) -> float | None:
    try:
        time = datetime.fromisoformat(str(date))
    except ValueError:
        return None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
