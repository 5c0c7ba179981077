"""Convert what codex app-server reports to the messages of the contract."""

import shlex
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, Final

from culture.agent.backends import wording
from culture.agent.contract import PermissionRequest, Result, Text, Thinking, ToolResult, ToolUse, Usage

SHELL: Final = "shell"
PATCH: Final = "apply_patch"

# Shells in which a plain command is what it is in any other.
_SHELLS: Final = ("bash", "dash", "sh")
_STATUSES: Final = {
    "badRequest": 400,
    "unauthorized": 401,
    "rateLimitExceeded": 429,
    "usageLimitExceeded": 429,
    "internalServerError": 500,
    "serverOverloaded": 529,
}


def begun(item: Mapping[str, Any]) -> ToolUse | None:
    """Return the tool call of an item that has started."""
    match item:
        case {"type": "commandExecution", "id": id, "command": command}:
            return ToolUse(id, SHELL, {"command": plain_command(command)})
        case {"type": "fileChange", "id": id, "changes": changes}:
            return ToolUse(id, PATCH, {"changes": changes})
        case {"type": "mcpToolCall", "id": id, "tool": tool, "server": server, "arguments": arguments}:
            return ToolUse(id, f"{server}.{tool}", _mapping(arguments))
        case {"type": "dynamicToolCall", "id": id, "tool": tool, "arguments": arguments}:
            return ToolUse(id, tool, _mapping(arguments))
        case {"type": "webSearch", "id": id, "query": query}:
            return ToolUse(id, "web_search", {"query": query})
        case _:
            return None


def completed(item: Mapping[str, Any]) -> Text | Thinking | None:
    """Return what the model said or thought, from a completed item."""
    match item:
        case {"type": "agentMessage", "text": text}:
            return Text(text)
        case {"type": "reasoning", "summary": list(summary)} if summary:
            return Thinking("\n".join(summary))
        case _:
            return None


def returned(item: Mapping[str, Any]) -> ToolResult | None:
    """Return what a tool returned, from its completed item."""
    match item:
        case {"type": "commandExecution", "id": id}:
            return ToolResult(id, _output(item), _has_failed(item))
        case {"type": "fileChange", "id": id}:
            return ToolResult(id, str(item.get("status", "")), _has_failed(item))
        case {"type": "mcpToolCall", "id": id}:
            return ToolResult(id, _server_output(item), _has_failed(item))
        case {"type": "dynamicToolCall", "id": id}:
            return ToolResult(id, _parts(item.get("contentItems")), item.get("success") is False)
        case {"type": "webSearch", "id": id}:
            return ToolResult(id, str(item.get("query") or ""))
        case _:
            return None


def _has_failed(item: Mapping[str, Any]) -> bool:
    return item.get("status") in ("failed", "declined") or item.get("exitCode") not in (None, 0)


def _output(item: Mapping[str, Any]) -> str:
    """Return the output of a command, with its exit status if it is not 0: the model sees that, too."""
    output, code = str(item.get("aggregatedOutput") or ""), item.get("exitCode")
    if item.get("status") == "declined":
        return output or "declined"
    return output if code in (None, 0) else f"{output.rstrip()}\n[exit status {code}]".lstrip()


def _server_output(item: Mapping[str, Any]) -> str:
    error, result = item.get("error") or {}, item.get("result") or {}
    return str(error.get("message") or "") or _parts(result.get("content"))


def _parts(content: Any) -> str:
    """Return the texts in a list of content parts; anything else is named by its type."""
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part.get("text") or f"[{part.get('type', 'data')}]") for part in parts)


def _mapping(given: Any) -> Mapping[str, Any]:
    return given if isinstance(given, dict) else {"arguments": given}


def plain_command(command: str) -> str:
    """Return what a shell is given to run, without the call of the shell itself."""
    try:
        called = shlex.split(command)
    except ValueError:
        return command
    match called:
        case [shell, "-c" | "-lc", script] if PurePath(shell).name in _SHELLS:
            return script
        case _:
            return command


def command_request(params: Mapping[str, Any]) -> PermissionRequest:
    kind, command = params.get("kind", "command"), plain_command(params.get("command") or "")
    given, id = {"command": command, "cwd": params.get("cwd")}, str(params.get("itemId") or "")
    # Another kind is, for example, what is typed into a command that runs already.
    is_command = kind == "command"
    return PermissionRequest(SHELL if is_command else kind, command if is_command else "", given, id)


def is_tool_of_a_server(params: Mapping[str, Any]) -> bool:
    """Return whether a question in the name of an MCP server is codex's own, about a tool of that server."""
    return (params.get("_meta") or {}).get("codex_approval_kind") == "mcp_tool_call"


def server_request(params: Mapping[str, Any]) -> PermissionRequest:
    given = {"message": params["message"], "parameters": params["_meta"].get("tool_params")}
    return PermissionRequest(f"mcp:{params['serverName']}", "", given)


class CodexTurn:
    """What a turn used so far."""

    def __init__(self, before: Usage | None) -> None:
        # The total of the thread that earlier results have reported; None if it is not known.
        self._before = before
        self.total = before
        self._context: float | None = None

    def used(self, told: Mapping[str, Any]) -> None:
        """Take the usage of the thread, from thread/tokenUsage/updated.

        A turn that fails repeats the report of the turn before it, so only the total can be relied on.
        """
        last, window = told["last"], told.get("modelContextWindow")
        self.total = _usage(told["total"])
        if self._before is None:
            self._before = _less(self.total, _usage(last))
        self._context = last["totalTokens"] / window if window else None

    @property
    def usage(self) -> Usage:
        """Return what the turn used so far, and what the compaction before it used."""
        return (
            _less(self.total, self._before)
            if self.total is not None and self._before is not None
            else Usage()
        )

    def result(self, turn: Mapping[str, Any], *, asked: bool = True) -> Result:
        """Return the result of the turn, from turn/completed."""
        return wording.result(
            error_of(turn),
            status=status_of(turn),
            duration_ms=turn.get("durationMs") or 0,
            usage=self.usage,
            context=self._context,
            asked=asked,
        )


def _usage(told: Mapping[str, Any]) -> Usage:
    return Usage(told["inputTokens"], told["cachedInputTokens"], told["outputTokens"])


def _less(total: Usage, before: Usage) -> Usage:
    return Usage(
        max(total.input_tokens - before.input_tokens, 0),
        max(total.cached_tokens - before.cached_tokens, 0),
        max(total.output_tokens - before.output_tokens, 0),
    )


def error_of(turn: Mapping[str, Any]) -> str:
    """Return why a turn failed; empty if it did not."""
    match turn:
        case {"status": "completed"}:
            return ""
        case {"status": "interrupted"}:
            return wording.INTERRUPTED
        case {"error": {"message": str(message)}} if message.strip():
            return message
        case _:
            return "codex gave no reason"


def status_of(turn: Mapping[str, Any]) -> int | None:
    """Return the HTTP status of the API, if the turn failed for it."""
    match turn:
        case {"status": "failed", "error": {"codexErrorInfo": str(info)}}:
            return _STATUSES.get(info)
        case {"status": "failed", "error": {"codexErrorInfo": dict(info)}}:
            details = [each for each in info.values() if isinstance(each, dict)]
            return next((each["httpStatusCode"] for each in details if each.get("httpStatusCode")), None)
        case _:
            return None
