"""Convert an agent's request for a permission to that of the contract, and the verdict to its answer."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from culture.agent.backends.acp.tools import own_name
from culture.agent.backends.acp.transcript import Call
from culture.agent.contract import PermissionRequest

CANCELLED: Final = {"outcome": {"outcome": "cancelled"}}


def request_of(asked: Mapping[str, Any], known: Call | None) -> PermissionRequest:
    """Convert a request; `known` is what the agent reported of the same tool call before."""
    call = asked["toolCall"]
    given = call.get("rawInput")
    given = given if isinstance(given, dict) and given else known.input if known else {}
    name = str(call.get("name") or (known and known.name) or call.get("title") or "")
    command = _command(given) if call.get("kind") == "execute" else ""
    return PermissionRequest(own_name(name), command, given, str(call.get("toolCallId") or ""))


def _command(given: Mapping[str, Any]) -> str:
    match given:
        case {"command": str(command)}:
            return command
        case {"commands": [*commands]} if all(isinstance(each, str) for each in commands):
            # More than one is not one; whoever judges them sees all of them.
            return "\n".join(commands)
        case _:
            return ""


def outcome(options: Sequence[Mapping[str, Any]], *, allowed: bool) -> dict[str, Any]:
    """Return the answer, for this call only: what is allowed always is never asked about again."""
    kinds = ("allow_once",) if allowed else ("reject_once", "reject_always")
    for kind in kinds:
        for option in options:
            if option.get("kind") == kind:
                return {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}
    return CANCELLED
