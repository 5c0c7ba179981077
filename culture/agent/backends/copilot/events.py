"""What the CLI reports of a session, in the messages and figures of the contract."""

from collections.abc import Mapping
from typing import Any, Final

from culture.agent.backends import words
from culture.agent.contract import Message, PermissionRequest

Data = Mapping[str, Any]

# The CLI itself tries for a minute. What is tried again later is up to the daemon, and people want to know.
RETRIES: Final = 2


class Turn:
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
                    self.error, self.status = words.INTERRUPTED, None
        return None

    def _failed(self, why: Any, status: Any) -> None:
        self.error = str(why or "no reason given")
        self.status = status if isinstance(status, int) and status >= 400 else None

    def result(self, duration_ms: int, context: float | None, *, asked: bool = True) -> Message:
        """Without cost: the CLI counts requests, not dollars."""
        used = words.usage(self._input, self._cached, self._output) if self._input else None
        return words.result(
            self.error, status=self.status, duration_ms=duration_ms, usage=used, context=context, asked=asked
        )


def assistant(data: Data) -> Message | None:
    content: list[dict[str, Any]] = []
    if thinking := data.get("reasoningText"):
        content.append({"type": "thinking", "thinking": str(thinking)})
    if text := data.get("content"):
        content.append({"type": "text", "text": str(text)})
    for call in data.get("toolRequests") or ():
        use = {"id": call.get("toolCallId"), "name": call.get("name"), "input": call.get("arguments") or {}}
        content.append({"type": "tool_use", **use})
    return {"type": "assistant", "model": str(data.get("model", "")), "content": content} if content else None


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
