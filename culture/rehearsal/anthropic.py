"""Read and write Anthropic Messages: requests, and replies as JSON or as server-sent events.

https://docs.anthropic.com/en/api/messages and …/messages-streaming
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from culture.rehearsal.conversation import ModelConversation, ToolOutput
from culture.rehearsal.example import example_of
from culture.rehearsal.reply import Content, Delay, Drop, Fail, Reply, ReplyText, Stall, ToolCall, content_of
from culture.rehearsal.shell import result_of
from culture.rehearsal.wire import (
    BadRequest,
    Json,
    ModelRequest,
    NewId,
    dicts,
    output_tokens,
    parse,
    pieces,
    tokens,
)

_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}

# The CLI adds to what the user said blocks of text that are in one such element.
_REMINDER = "<system-reminder>"
# What the CLI tells the model instead of nothing.
_NO_OUTPUT = "(Bash completed with no output)"


# Reading


def read(body: bytes) -> ModelRequest:
    data = _parse(body)
    return ModelRequest(
        conversation=_conversation(data),
        is_streamed=data.get("stream") is True,
        input_tokens=tokens(len(body)),
        body=data,
        aside=_aside(data),
    )


def count_tokens(body: bytes) -> Json:
    _parse(body)
    return {"input_tokens": tokens(len(body))}


def _parse(body: bytes) -> dict[str, Any]:
    data = parse(body)
    messages = data.get("messages")
    if not isinstance(messages, list) or not messages or not all(isinstance(m, dict) for m in messages):
        raise BadRequest("messages: a list of at least one message is required")
    return data


def _conversation(data: Mapping[str, Any]) -> ModelConversation:
    # The CLI tells the model about its environment in messages of the role 'system', also at the end.
    messages = [(m.get("role"), _blocks(m.get("content"))) for m in data["messages"]]
    spoken = [(role, blocks) for role, blocks in messages if role != "system"]
    said = (texts for role, blocks in reversed(spoken) if role == "user" and (texts := _texts(blocks)))
    return ModelConversation(
        model=data["model"],
        prompt="\n".join(next(said, [])),
        tools=tuple(str(tool.get("name")) for tool in dicts(data.get("tools"))),
        result=_result(spoken),
    )


def _blocks(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else dicts(content)


def _texts(blocks: Iterable[Mapping[str, Any]]) -> list[str]:
    texts = [str(block.get("text", "")) for block in blocks if block.get("type") == "text"]
    return [text for text in texts if text and not text.lstrip().startswith(_REMINDER)]


def _result(spoken: list[tuple[Any, list[dict[str, Any]]]]) -> ToolOutput | None:
    """Return the tool's result at the end of the conversation, unless the user said something after it."""
    role, blocks = spoken[-1] if spoken else (None, [])
    results = [block for block in blocks if block.get("type") == "tool_result"]
    if role != "user" or not results or _texts(blocks):
        return None
    last = results[-1]
    calls = (block for _, blocks in reversed(spoken) for block in blocks if block.get("type") == "tool_use")
    call: Mapping[str, Any] = next((call for call in calls if call.get("id") == last.get("tool_use_id")), {})
    given = call.get("input")
    output = "\n".join(_texts(_blocks(last.get("content"))))
    told = result_of(
        str(call.get("name", "")),
        given if isinstance(given, dict) else {},
        "" if output == _NO_OUTPUT else output,
    )
    return replace(told, has_failed=True) if last.get("is_error") is True else told


def _aside(data: Mapping[str, Any]) -> Reply | None:
    """Return the answer to what the CLI asks for itself: probes of one token, small structured answers."""
    if data.get("max_tokens") == 1:
        return (ReplyText("."),)
    config = data.get("output_config")
    wanted = config.get("format") if isinstance(config, dict) else None
    if data.get("tools") or not isinstance(wanted, dict):
        return None
    return (ReplyText(json.dumps(example_of(wanted.get("schema")))),)


# Rendering


def failure(fail: Fail) -> Json:
    kind = fail.type or _ERROR_TYPES.get(fail.status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": fail.message}}


def whole(request: ModelRequest, reply: Reply, new_id: NewId) -> Json:
    content = content_of(reply)
    return _message(request, new_id) | {
        "content": [_block(part, new_id) for part in content],
        "stop_reason": _stop_reason(content),
        "usage": _usage(request, output_tokens(request, content)),
    }


def stream(request: ModelRequest, reply: Reply, new_id: NewId) -> Iterator[bytes | Delay | Drop | Stall]:
    yield _event("message_start", message=_message(request, new_id))
    yield _event("ping")
    blocks = _Blocks(new_id)
    for step in reply:
        match step:
            case ReplyText(text):
                yield from blocks.say(text)
            case ToolCall():
                yield from blocks.call(step)
            case Delay():
                yield step
            case Drop() | Stall():
                yield step
                return
            case Fail():
                yield _event("error", **{k: v for k, v in failure(step).items() if k != "type"})
                return
    yield from blocks.end_text()
    content = content_of(reply)
    usage = {"output_tokens": output_tokens(request, content)}
    delta = {"stop_reason": _stop_reason(content), "stop_sequence": None}
    yield _event("message_delta", delta=delta, usage=usage)
    yield _event("message_stop")


class _Blocks:
    """The blocks of one message, numbered; texts go into one block until something else comes."""

    def __init__(self, new_id: NewId) -> None:
        self._new_id = new_id
        self._index = 0
        self._is_in_text = False

    def say(self, text: str) -> Iterator[bytes]:
        if not self._is_in_text:
            self._is_in_text = True
            yield self._start(ReplyText(""))
        yield from self._deltas("text_delta", "text", text)

    def end_text(self) -> Iterator[bytes]:
        if self._is_in_text:
            self._is_in_text = False
            yield self._stop()

    def call(self, call: ToolCall) -> Iterator[bytes]:
        yield from self.end_text()
        # The input is empty here and comes whole in the deltas.
        yield self._start(ToolCall(call.name, {}))
        yield from self._deltas("input_json_delta", "partial_json", json.dumps(call.input))
        yield self._stop()

    def _start(self, part: Content) -> bytes:
        return _event("content_block_start", index=self._index, content_block=_block(part, self._new_id))

    def _deltas(self, kind: str, key: str, text: str) -> Iterator[bytes]:
        for piece in pieces(text):
            yield _event("content_block_delta", index=self._index, delta={"type": kind, key: piece})

    def _stop(self) -> bytes:
        stopped = _event("content_block_stop", index=self._index)
        self._index += 1
        return stopped


def models(ids: Iterable[str]) -> Json:
    data = [model(id) for id in ids]
    return {"data": data, "has_more": False, "first_id": None, "last_id": None}


def model(id: str) -> Json:
    return {"type": "model", "id": id, "display_name": id, "created_at": "2025-01-01T00:00:00Z"}


def _event(kind: str, **data: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()


def _message(request: ModelRequest, new_id: NewId) -> Json:
    # The CLI takes replies with the same id for parts of one: ids never repeat, also after a restart.
    return {
        "id": f"msg_{new_id()}",
        "type": "message",
        "role": "assistant",
        "model": request.conversation.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": _usage(request, 1),
    }


def _block(part: Content, new_id: NewId) -> Json:
    match part:
        case ReplyText(text):
            return {"type": "text", "text": text}
        case ToolCall(name, input):
            return {"type": "tool_use", "id": f"toolu_{new_id()}", "name": name, "input": dict(input)}


def _usage(request: ModelRequest, output_tokens: int) -> Json:
    return {
        # The API counts apart what it read from its cache.
        "input_tokens": request.input_tokens - request.cached_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": request.cached_tokens,
        "output_tokens": output_tokens,
    }


def _stop_reason(content: list[Content]) -> str:
    return "tool_use" if any(isinstance(part, ToolCall) for part in content) else "end_turn"
