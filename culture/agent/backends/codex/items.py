"""What the app-server reports, in the words of the contract."""

import shlex
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, Final

from culture.agent.backends import words
from culture.agent.contract import Message, PermissionRequest

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


def begun(item: Mapping[str, Any]) -> dict[str, Any] | None:
    """A block for a tool that is about to run."""
    match item:
        case {"type": "commandExecution", "id": id, "command": command}:
            return _use(id, SHELL, {"command": plain_command(command)})
        case {"type": "fileChange", "id": id, "changes": changes}:
            return _use(id, PATCH, {"changes": changes})
        case {"type": "mcpToolCall", "id": id, "tool": tool, "server": server, "arguments": arguments}:
            return _use(id, f"{server}.{tool}", arguments)
        case {"type": "dynamicToolCall", "id": id, "tool": tool, "arguments": arguments}:
            return _use(id, tool, arguments)
        case {"type": "webSearch", "id": id, "query": query}:
            return _use(id, "web_search", {"query": query})
        case _:
            return None


def completed(item: Mapping[str, Any]) -> dict[str, Any] | None:
    """A block for what the model has said or thought."""
    match item:
        case {"type": "agentMessage", "text": text}:
            return {"type": "text", "text": text}
        case {"type": "reasoning", "summary": list(summary)} if summary:
            return {"type": "thinking", "thinking": "\n".join(summary)}
        case _:
            return None


def _use(id: str, name: str, given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": given}


def plain_command(command: str) -> str:
    """What a shell is given to run, without the call of the shell itself."""
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
    given = {"command": command, "cwd": params.get("cwd")}
    # Such as what is typed into a command that runs already.
    return (
        PermissionRequest(SHELL, command, given) if kind == "command" else PermissionRequest(kind, "", given)
    )


def is_tool_of_a_server(params: Mapping[str, Any]) -> bool:
    """Whether a question in the name of an MCP server is codex's own, about a tool of that server."""
    return (params.get("_meta") or {}).get("codex_approval_kind") == "mcp_tool_call"


def server_request(params: Mapping[str, Any]) -> PermissionRequest:
    given = {"message": params["message"], "parameters": params["_meta"].get("tool_params")}
    return PermissionRequest(f"mcp:{params['serverName']}", "", given)


class Turn:
    """A turn from its beginning to its end, and what it used in between."""

    def __init__(self) -> None:
        self._usage = words.usage(0, 0, 0)
        self._context: float | None = None

    def used(self, told: Mapping[str, Any]) -> None:
        """After each request to the model, `last` is what that one used."""
        last, window = told["last"], told.get("modelContextWindow")
        added = words.usage(last["inputTokens"], last["cachedInputTokens"], last["outputTokens"])
        self._usage = {kind: count + added[kind] for kind, count in self._usage.items()}
        self._context = last["totalTokens"] / window if window else None

    def result(self, turn: Mapping[str, Any], *, asked: bool = True) -> Message:
        return words.result(
            error_of(turn),
            status=status_of(turn),
            duration_ms=turn.get("durationMs") or 0,
            usage=self._usage,
            context=self._context,
            asked=asked,
        )


def error_of(turn: Mapping[str, Any]) -> str:
    """Empty if nothing went wrong."""
    match turn:
        case {"status": "completed"}:
            return ""
        case {"status": "interrupted"}:
            return words.INTERRUPTED
        case {"error": {"message": str(message)}} if message.strip():
            return message
        case _:
            return "codex gave no reason"


def status_of(turn: Mapping[str, Any]) -> int | None:
    match turn:
        case {"status": "failed", "error": {"codexErrorInfo": str(info)}}:
            return _STATUSES.get(info)
        case {"status": "failed", "error": {"codexErrorInfo": dict(info)}}:
            details = [each for each in info.values() if isinstance(each, dict)]
            return next((each["httpStatusCode"] for each in details if each.get("httpStatusCode")), None)
        case _:
            return None
