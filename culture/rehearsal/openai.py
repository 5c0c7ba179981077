"""Share what both wire formats of OpenAI have: failures, and arguments of calls as JSON texts.

https://platform.openai.com/docs/guides/error-codes
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from culture.rehearsal.conversation import ToolOutput
from culture.rehearsal.example import example_of
from culture.rehearsal.reply import Fail, Reply, ReplyText
from culture.rehearsal.shell import result_of
from culture.rehearsal.wire import Json, dicts

_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_exceeded",
}


def failure(fail: Fail) -> Json:
    kind = fail.type or _ERROR_TYPES.get(fail.status, "server_error")
    return {"error": {"message": fail.message, "type": kind, "param": None, "code": kind}}


def text_of(content: Any) -> str:
    """Return the text of a content, which is a text or a list of parts."""
    if isinstance(content, str):
        return content
    texts = (part["text"] for part in dicts(content) if isinstance(part.get("text"), str))
    return "\n".join(text for text in texts if text)


def result(name: Any, arguments: Any, output: Any) -> ToolOutput:
    try:
        given = json.loads(arguments)
    except (TypeError, ValueError):
        given = {}
    return result_of(str(name), given if isinstance(given, dict) else {}, text_of(output))


def aside(wanted: Any, schema_in: str) -> Reply | None:
    """Return the small structured answer that a CLI asks for on the side, if it does."""
    if not isinstance(wanted, dict) or wanted.get("type") != "json_schema":
        return None
    holder: Any = wanted.get(schema_in) if schema_in else wanted
    schema = holder.get("schema") if isinstance(holder, Mapping) else None
    return (ReplyText(json.dumps(example_of(schema))),)


def names(tools: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(str(tool["name"]) for tool in tools if "name" in tool)
