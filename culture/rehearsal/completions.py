"""Read and write OpenAI Chat Completions: requests, and replies as JSON or as server-sent events.

https://platform.openai.com/docs/api-reference/chat and …/chat-streaming
"""

import json
from collections.abc import Iterator, Mapping
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
    messages = dicts(data.get("messages"))
    if not messages:
        raise BadRequest("messages: a list of at least one message is required")
    return ModelRequest(
        conversation=_conversation(data, messages),
        is_streamed=data.get("stream") is True,
        input_tokens=tokens(len(body)),
        body=data,
        aside=openai.aside(data.get("response_format"), schema_in="json_schema"),
    )


def _conversation(data: Mapping[str, Any], messages: list[dict[str, Any]]) -> ModelConversation:
    said = (openai.text_of(m.get("content")) for m in reversed(messages) if m.get("role") == "user")
    functions = [tool.get("function") for tool in dicts(data.get("tools"))]
    return ModelConversation(
        model=data["model"],
        prompt=next((text for text in said if text), ""),
        tools=openai.names(dicts(functions)),
        result=_result(messages),
    )


def _result(messages: list[dict[str, Any]]) -> ToolOutput | None:
    last = messages[-1]
    if last.get("role") != "tool":
        return None
    calls = (call for message in reversed(messages) for call in dicts(message.get("tool_calls")))
    found: Json = next((call for call in calls if call.get("id") == last.get("tool_call_id")), {})
    function = found.get("function")
    called: Mapping[str, Any] = function if isinstance(function, dict) else {}
    return openai.result(called.get("name", ""), called.get("arguments"), last.get("content"))


# Rendering


def whole(request: ModelRequest, reply: Reply, new_id: NewId) -> Json:
    content = content_of(reply)
    text = "".join(part.text for part in content if isinstance(part, ReplyText))
    calls = [_call(part, new_id) for part in content if isinstance(part, ToolCall)]
    message = {"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish_reason(content)}
    return _completion(request, new_id, "chat.completion") | {
        "choices": [choice],
        "usage": _usage(request, content),
    }


def stream(request: ModelRequest, reply: Reply, new_id: NewId) -> Iterator[bytes | Delay | Drop | Stall]:
    head = _completion(request, new_id, "chat.completion.chunk")
    yield _chunk(head, {"role": "assistant", "content": ""})
    calls = 0
    for step in reply:
        match step:
            case ReplyText(text):
                yield from (_chunk(head, {"content": piece}) for piece in pieces(text))
            case ToolCall():
                yield from _call_chunks(head, calls, step, new_id)
                calls += 1
            case Delay():
                yield step
            case Drop() | Stall():
                yield step
                return
            case Fail():
                yield _event(failure(step))
                return
    content = content_of(reply)
    yield _chunk(head, {}, _finish_reason(content))
    options = request.body.get("stream_options")
    if isinstance(options, dict) and options.get("include_usage") is True:
        yield _event(head | {"choices": [], "usage": _usage(request, content)})
    yield b"data: [DONE]\n\n"


def _call_chunks(head: Json, index: int, call: ToolCall, new_id: NewId) -> Iterator[bytes]:
    # The arguments are empty here and come whole in the deltas.
    first = _call(ToolCall(call.name, {}), new_id)
    first["function"]["arguments"] = ""
    yield _chunk(head, {"tool_calls": [{"index": index, **first}]})
    for piece in pieces(json.dumps(call.input)):
        yield _chunk(head, {"tool_calls": [{"index": index, "function": {"arguments": piece}}]})


def _chunk(head: Json, delta: Json, finish_reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
    return _event(head | {"choices": [choice]})


def _event(data: Json) -> bytes:
    return f"data: {json.dumps(data)}\n\n".encode()


def _completion(request: ModelRequest, new_id: NewId, kind: str) -> Json:
    model = request.conversation.model
    return {"id": f"chatcmpl-{new_id()}", "object": kind, "created": 0, "model": model}


def _call(call: ToolCall, new_id: NewId) -> Json:
    function = {"name": call.name, "arguments": json.dumps(call.input)}
    return {"id": f"call_{new_id()}", "type": "function", "function": function}


def _finish_reason(content: list[Content]) -> str:
    return "tool_calls" if any(isinstance(part, ToolCall) for part in content) else "stop"


def _usage(request: ModelRequest, content: list[Content]) -> Json:
    given, made = request.input_tokens, output_tokens(request, content)
    return {
        "prompt_tokens": given,
        "completion_tokens": made,
        "total_tokens": given + made,
        "prompt_tokens_details": {"cached_tokens": request.cached_tokens},
    }
