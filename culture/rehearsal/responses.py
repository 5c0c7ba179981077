"""Read and write OpenAI Responses: requests, and replies as JSON or as server-sent events.

https://platform.openai.com/docs/api-reference/responses and …/responses-streaming
"""

import json
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from culture.rehearsal import openai
from culture.rehearsal.conversation import ModelConversation, ToolOutput
from culture.rehearsal.reply import Content, Delay, Drop, Fail, Reply, ReplyText, Stall, ToolCall, content_of
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

failure = openai.failure

# Reading


def read(body: bytes) -> ModelRequest:
    data = parse(body)
    items = _items(data.get("input"))
    if not items:
        raise BadRequest("input: a text, or a list of at least one item, is required")
    text = data.get("text")
    return ModelRequest(
        conversation=_conversation(data, items),
        is_streamed=data.get("stream") is True,
        input_tokens=tokens(len(body)),
        body=data,
        aside=openai.aside(text.get("format"), schema_in="") if isinstance(text, dict) else None,
    )


def _items(given: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": given}] if isinstance(given, str) else dicts(given)


def _conversation(data: Mapping[str, Any], items: list[dict[str, Any]]) -> ModelConversation:
    said = (openai.text_of(item.get("content")) for item in reversed(items) if item.get("role") == "user")
    return ModelConversation(
        model=data["model"],
        prompt=next((text for text in said if text), ""),
        tools=tuple(_tools(dicts(data.get("tools")))),
        result=_result(items),
    )


def _tools(offered: list[dict[str, Any]]) -> Iterator[str]:
    """Return the names of tools; one in a namespace is `namespace.name` to scripts."""
    for tool in offered:
        inner = openai.names(dicts(tool.get("tools")))
        yield from (f"{tool.get('name')}.{name}" for name in inner)
        yield from () if inner else openai.names([tool])


def _result(items: list[dict[str, Any]]) -> ToolOutput | None:
    last = items[-1]
    if last.get("type") != "function_call_output":
        return None
    calls = (item for item in reversed(items) if item.get("type") == "function_call")
    call: Json = next((call for call in calls if call.get("call_id") == last.get("call_id")), {})
    name = ".".join(str(call[part]) for part in ("namespace", "name") if call.get(part))
    return openai.result(name, call.get("arguments"), last.get("output"))


# Rendering


def whole(request: ModelRequest, reply: Reply, new_id: NewId) -> Json:
    response, content = _response(request, new_id), content_of(reply)
    return response | _completed(request, content, [_item(part, new_id) for part in content])


def stream(request: ModelRequest, reply: Reply, new_id: NewId) -> Iterator[bytes | Delay | Drop | Stall]:
    response = _response(request, new_id)
    events = _Events(new_id)
    yield events.event("response.created", response=response)
    yield events.event("response.in_progress", response=response)
    for step in reply:
        match step:
            case ReplyText(text):
                yield from events.say(text)
            case ToolCall():
                yield from events.call(step)
            case Delay():
                yield step
            case Drop() | Stall():
                yield step
                return
            case Fail():
                error = {"code": failure(step)["error"]["code"], "message": step.message}
                failed = response | {"status": "failed", "error": error}
                yield events.event("response.failed", response=failed)
                return
    yield from events.end_text()
    completed = _completed(request, content_of(reply), events.output)
    yield events.event("response.completed", response=response | completed)


class _Events:
    """The events of one response, numbered; texts go into one message until something else comes."""

    def __init__(self, new_id: NewId) -> None:
        self._new_id = new_id
        self._numbers = count()
        # Items that are whole.
        self.output: list[Json] = []
        self._message: Json | None = None
        self._said = ""

    def event(self, kind: str, **data: Any) -> bytes:
        told = {"type": kind, "sequence_number": next(self._numbers), **data}
        return f"event: {kind}\ndata: {json.dumps(told)}\n\n".encode()

    def say(self, text: str) -> Iterator[bytes]:
        if self._message is None:
            self._message, self._said = _item(ReplyText(""), self._new_id), ""
            begun = self._message | {"status": "in_progress", "content": []}
            yield self._of_item("response.output_item.added", item=begun)
            yield self._of_text("response.content_part.added", part=_part(""))
        self._said += text
        for piece in pieces(text):
            yield self._of_text("response.output_text.delta", delta=piece, logprobs=[])

    def end_text(self) -> Iterator[bytes]:
        if self._message is None:
            return
        yield self._of_text("response.output_text.done", text=self._said, logprobs=[])
        yield self._of_text("response.content_part.done", part=_part(self._said))
        yield from self._done(self._message | {"content": [_part(self._said)]})
        self._message = None

    def call(self, call: ToolCall) -> Iterator[bytes]:
        yield from self.end_text()
        item = _item(call, self._new_id)
        begun = item | {"status": "in_progress", "arguments": ""}
        yield self._of_item("response.output_item.added", item=begun)
        about = {"item_id": item["id"]}
        for piece in pieces(item["arguments"]):
            yield self._of_item("response.function_call_arguments.delta", **about, delta=piece)
        whole = {"name": item["name"], "arguments": item["arguments"]}
        yield self._of_item("response.function_call_arguments.done", **about, **whole)
        yield from self._done(item)

    def _done(self, item: Json) -> Iterator[bytes]:
        yield self._of_item("response.output_item.done", item=item)
        self.output.append(item)

    def _of_item(self, kind: str, **data: Any) -> bytes:
        return self.event(kind, output_index=len(self.output), **data)

    def _of_text(self, kind: str, **data: Any) -> bytes:
        assert self._message is not None
        return self._of_item(kind, item_id=self._message["id"], content_index=0, **data)


def _response(request: ModelRequest, new_id: NewId) -> Json:
    return {
        "id": f"resp_{new_id()}",
        "object": "response",
        "created_at": 0,
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "model": request.conversation.model,
        "output": [],
        "usage": None,
    }


def _completed(request: ModelRequest, content: list[Content], output: list[Json]) -> Json:
    given, made = request.input_tokens, output_tokens(request, content)
    usage = {
        "input_tokens": given,
        "input_tokens_details": {"cached_tokens": request.cached_tokens},
        "output_tokens": made,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": given + made,
    }
    return {"status": "completed", "output": output, "usage": usage}


def _item(part: Content, new_id: NewId) -> Json:
    match part:
        case ReplyText(text):
            message = {"id": f"msg_{new_id()}", "type": "message", "role": "assistant", "status": "completed"}
            return message | {"content": [_part(text)]}
        case ToolCall(name, input):
            ids = {"id": f"fc_{new_id()}", "call_id": f"call_{new_id()}"}
            namespace, _, own = name.rpartition(".")
            called = {"name": own, "arguments": json.dumps(input)}
            place = {"namespace": namespace} if namespace else {}
            return {"type": "function_call", "status": "completed", **ids, **called, **place}


def _part(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
