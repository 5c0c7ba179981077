"""OpenAI Chat Completions: https://platform.openai.com/docs/api-reference/chat and …/chat-streaming"""

import itertools
import json

import pytest

from culture.rehearsal import completions
from culture.rehearsal.conversation import ToolOutput
from culture.rehearsal.reply import Delay, Drop, Fail, ReplyText, Stall, ToolCall
from culture.rehearsal.wire import BadRequest

BASH = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}


def read(*messages, **more):
    body = {"model": "gpt", "tools": [BASH], "messages": list(messages)} | more
    return completions.read(json.dumps(body).encode())


def user(content):
    return {"role": "user", "content": content}


def call(id, command):
    function = {"name": "bash", "arguments": json.dumps({"command": command})}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": id, "function": function}]}


def result(id, content):
    return {"role": "tool", "tool_call_id": id, "content": content}


def ids():
    return map(str, itertools.count(1)).__next__


def chunks(reply, **more):
    """What comes after each `data: `, parsed; what happens in between as it is."""
    parts = completions.stream(read(user("hi"), **more), reply, ids())
    return [_parsed(part) if isinstance(part, bytes) else part for part in parts]


def _parsed(event):
    data = event.decode().removeprefix("data: ").removesuffix("\n\n")
    return data if data == "[DONE]" else json.loads(data)


def deltas(parts):
    return [part["choices"][0]["delta"] for part in parts if isinstance(part, dict) and part.get("choices")]


# Reading


def test_the_prompt_is_what_the_user_said_last():
    request = read(
        {"role": "system", "content": "be brief"},
        user("one"),
        {"role": "assistant", "content": "yes"},
        user([{"type": "text", "text": "two"}, {"type": "text", "text": "lines"}]),
    )

    assert request.conversation.prompt == "two\nlines"
    assert request.conversation.model == "gpt"
    assert request.conversation.tools == ("bash",)
    assert request.conversation.result is None
    assert not request.is_streamed


def test_a_conversation_that_ends_with_a_tools_result_still_has_its_prompt():
    request = read(user("look"), call("t1", "irc read x"), result("t1", "a\nb"))

    assert request.conversation.prompt == "look"
    assert request.conversation.result == ToolOutput("Bash", "irc read x", "a\nb")


def test_what_the_user_says_after_a_result_is_a_prompt_again():
    request = read(user("one"), call("t1", "sleep 9"), result("t1", "stopped"), user("two"))

    assert request.conversation.prompt == "two"
    assert request.conversation.result is None


def test_a_structured_answer_is_an_aside():
    schema = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
    wanted = {"type": "json_schema", "json_schema": {"name": "title", "schema": schema}}

    assert read(user("hi"), response_format=wanted).aside == (ReplyText('{"title": "Rehearsal"}'),)
    assert read(user("hi")).aside is None


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"{}", b'{"model": "m"}', b'{"model": "m", "messages": []}', b"\xff\xfe"]
)
def test_what_is_no_request_is_refused(body):
    with pytest.raises(BadRequest):
        completions.read(body)


@pytest.mark.parametrize("content", [None, 3, [], [3], [{}], [{"type": "image_url"}], {"type": "text"}])
def test_content_of_any_shape_is_read(content):
    assert read(user(content)).conversation.prompt == ""


@pytest.mark.parametrize(
    "calls", [None, [], [3], [{"id": "t1"}], [{"id": "t1", "function": {"arguments": "{"}}]]
)
def test_a_result_of_nothing_that_was_called_is_read(calls):
    asked = read(user("x"), {"role": "assistant", "tool_calls": calls}, result("t1", "a"))

    assert asked.conversation.result == ToolOutput("", "", "a")


# Rendering


def test_a_text_comes_in_pieces_and_ends_with_its_reason():
    parts = chunks((ReplyText("a text that is longer than one event "), Delay(1), ReplyText("holds")))

    said = [delta.get("content", "") for delta in deltas(parts)]
    assert "".join(said) == "a text that is longer than one event holds"
    assert len([piece for piece in said if piece]) == 3
    assert parts[-2]["choices"][0]["finish_reason"] == "stop"
    assert parts[-1] == "[DONE]"
    assert Delay(1) in parts


def test_the_arguments_of_a_call_come_in_pieces_of_their_json():
    parts = chunks((ToolCall("bash", {"command": "echo ü " + "x" * 50}), ToolCall("read", {})))

    calls = [delta["tool_calls"][0] for delta in deltas(parts) if "tool_calls" in delta]
    first = {"index": 0, "id": "call_2", "type": "function", "function": {"name": "bash", "arguments": ""}}
    assert calls[0] == first
    pieces = [each["function"]["arguments"] for each in calls if each["index"] == 0]
    assert json.loads("".join(pieces)) == {"command": "echo ü " + "x" * 50}
    assert [each["id"] for each in calls if "id" in each] == ["call_2", "call_3"]
    assert parts[-2]["choices"][0]["finish_reason"] == "tool_calls"


def test_usage_is_told_at_the_end_to_who_asks_for_it():
    parts = chunks((ReplyText("a"),), stream_options={"include_usage": True})

    assert parts[-2]["choices"] == []
    assert parts[-2]["usage"]["prompt_tokens"] > 1
    assert "usage" not in chunks((ReplyText("a"),))[-2]


def test_a_dropped_or_stalled_stream_ends_there():
    assert chunks((ReplyText("a"), Drop()))[-1] == Drop()
    assert chunks((ReplyText("a"), Stall()))[-1] == Stall()


def test_an_error_after_content_is_the_last_event():
    assert chunks((ReplyText("a"), Fail(429, "busy")))[-1] == {
        "error": {
            "message": "busy",
            "type": "rate_limit_exceeded",
            "param": None,
            "code": "rate_limit_exceeded",
        }
    }


def test_a_whole_reply_has_the_same_content_as_a_streamed_one():
    request = read(user("hi"))

    told = completions.whole(
        request, (ReplyText("a"), ReplyText("b"), ToolCall("bash", {"command": "ls"})), ids()
    )

    [choice] = told["choices"]
    assert choice["message"]["content"] == "ab"
    assert choice["message"]["tool_calls"][0]["function"] == {
        "name": "bash",
        "arguments": '{"command": "ls"}',
    }
    assert choice["finish_reason"] == "tool_calls"
    assert told["usage"]["prompt_tokens"] == request.input_tokens
