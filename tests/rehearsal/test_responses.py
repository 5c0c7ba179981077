"""OpenAI Responses: https://platform.openai.com/docs/api-reference/responses and …/responses-streaming"""

import itertools
import json

import pytest

from culture.rehearsal import responses
from culture.rehearsal.conversation import ToolOutput
from culture.rehearsal.reply import Delay, Drop, Fail, ReplyText, Stall, ToolCall
from culture.rehearsal.wire import BadRequest

EXEC = {"type": "function", "name": "exec_command", "parameters": {"type": "object"}}


def read(*items, **more):
    body = {"model": "gpt", "tools": [EXEC, {"type": "web_search"}], "input": list(items)} | more
    return responses.read(json.dumps(body).encode())


def user(words):
    content = [{"type": "input_text", "text": words}]
    return {"type": "message", "role": "user", "content": content}


def call(id, command):
    arguments = json.dumps({"cmd": command})
    return {"type": "function_call", "call_id": id, "name": "exec_command", "arguments": arguments}


def result(id, output):
    return {"type": "function_call_output", "call_id": id, "output": output}


def ids():
    return map(str, itertools.count(1)).__next__


def events(reply):
    """The events of a stream; what happens between them as it is."""
    parts = list(responses.stream(read(user("hi")), reply, ids()))
    parsed = [_parsed(part) if isinstance(part, bytes) else part for part in parts]
    numbers = [part["sequence_number"] for part in parsed if isinstance(part, dict)]
    assert numbers == list(range(len(numbers)))
    return parsed


def _parsed(event):
    name, data = event.decode().removesuffix("\n\n").split("\n")
    parsed = json.loads(data.removeprefix("data: "))
    assert name == f"event: {parsed['type']}"
    return parsed


# Reading


def test_the_prompt_is_what_the_user_said_last():
    request = read(
        user("<environment_context/>"),
        user("one"),
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "yes"}]},
        user("two"),
    )

    assert request.conversation.prompt == "two"
    assert request.conversation.model == "gpt"
    assert request.conversation.tools == ("exec_command",)
    assert request.conversation.result is None


def test_a_text_alone_is_a_prompt():
    assert responses.read(b'{"model": "gpt", "input": "hello"}').conversation.prompt == "hello"


def test_a_conversation_that_ends_with_a_tools_result_still_has_its_prompt():
    request = read(user("look"), call("t1", "irc read x"), result("t1", "a\nb"))

    assert request.conversation.prompt == "look"
    assert request.conversation.result == ToolOutput("Bash", "irc read x", "a\nb")


def test_a_tool_in_a_namespace_has_the_name_of_both():
    inner = {"type": "namespace", "name": "mcp__x", "tools": [{"type": "function", "name": "look"}]}
    called = call("t1", "x") | {"name": "look", "namespace": "mcp__x"}
    request = read(user("look"), called, result("t1", "a"), tools=[EXEC, inner])

    assert request.conversation.tools == ("exec_command", "mcp__x.look")
    assert request.conversation.result == ToolOutput("mcp__x.look", "", "a")
    [item] = events((ToolCall("mcp__x.look", {}),))[-1]["response"]["output"]
    assert (item["namespace"], item["name"]) == ("mcp__x", "look")


def test_a_structured_answer_is_an_aside():
    wanted = {"format": {"type": "json_schema", "name": "x", "schema": {"type": "object"}}}

    assert read(user("hi"), text=wanted).aside == (ReplyText("{}"),)
    assert read(user("hi"), text={"verbosity": "low"}).aside is None


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"{}", b'{"model": "m"}', b'{"model": "m", "input": []}', b"\xff\xfe"]
)
def test_what_is_no_request_is_refused(body):
    with pytest.raises(BadRequest):
        responses.read(body)


# Rendering


def test_a_text_is_one_message_however_many_steps_and_events_it_comes_in():
    stream = events((ReplyText("a text that is longer than one event "), Delay(1), ReplyText("holds")))

    assert [part["type"] for part in stream if isinstance(part, dict)] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    [message] = stream[-1]["response"]["output"]
    assert message["content"][0]["text"] == "a text that is longer than one event holds"
    assert Delay(1) in stream


def test_the_arguments_of_a_call_come_in_pieces_of_their_json():
    stream = events((ReplyText("so:"), ToolCall("exec_command", {"cmd": "echo ü " + "x" * 50})))

    pieces = [part["delta"] for part in stream if part["type"] == "response.function_call_arguments.delta"]
    assert len(pieces) > 1
    assert json.loads("".join(pieces)) == {"cmd": "echo ü " + "x" * 50}
    assert [part["output_index"] for part in stream if part["type"] == "response.output_item.done"] == [0, 1]
    called = stream[-1]["response"]["output"][1]
    assert (called["name"], called["call_id"]) == ("exec_command", "call_4")


def test_a_dropped_or_stalled_stream_ends_there():
    assert events((ReplyText("a"), Drop()))[-1] == Drop()
    assert events((ReplyText("a"), Stall()))[-1] == Stall()


def test_an_error_after_content_is_a_response_that_failed():
    last = events((ReplyText("a"), Fail(429, "busy")))[-1]

    assert last["type"] == "response.failed"
    assert last["response"]["error"] == {"code": "rate_limit_exceeded", "message": "busy"}


def test_a_whole_reply_has_the_same_output_as_a_streamed_one():
    reply = (ReplyText("a"), ReplyText("b"), ToolCall("exec_command", {"cmd": "ls"}))

    told = responses.whole(read(user("hi")), reply, ids())

    assert told["status"] == "completed"
    assert told == events(reply)[-1]["response"]
