"""Anthropic Messages: https://docs.anthropic.com/en/api/messages and …/messages-streaming"""

import itertools
import json

import pytest

from culture.rehearsal import anthropic
from culture.rehearsal.conversation import ToolOutput
from culture.rehearsal.reply import Delay, Drop, Fail, ReplyText, Stall, ToolCall
from culture.rehearsal.wire import BadRequest

BASH = {"name": "Bash", "input_schema": {"type": "object"}}


def read(*messages, **more):
    body = {"model": "claude-opus", "max_tokens": 1000, "tools": [BASH], "messages": list(messages)} | more
    return anthropic.read(json.dumps(body).encode())


def user(*blocks):
    return {"role": "user", "content": list(blocks)}


def text(words):
    return {"type": "text", "text": words}


def call(id, command):
    block = {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}
    return {"role": "assistant", "content": [block]}


def result(id, content, **more):
    return {"type": "tool_result", "tool_use_id": id, "content": content} | more


def ids():
    return map(str, itertools.count(1)).__next__


def events(reply):
    """The events of a stream as (name, data); what happens between them as it is."""
    parts = anthropic.stream(read(user(text("hi"))), reply, ids())
    return [_parsed(part) if isinstance(part, bytes) else part for part in parts]


def _parsed(event):
    name, data = event.decode().removesuffix("\n\n").split("\n")
    parsed = json.loads(data.removeprefix("data: "))
    assert name == f"event: {parsed['type']}"
    return parsed


def kinds(reply):
    return [part["type"] if isinstance(part, dict) else part for part in events(reply)]


# Reading


def test_the_prompt_is_what_the_user_said_last():
    request = read(
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "yes"},
        {"role": "user", "content": "two"},
    )

    assert request.conversation.prompt == "two"
    assert request.conversation.model == "claude-opus"
    assert request.conversation.tools == ("Bash",)
    assert request.conversation.result is None


def test_what_the_cli_adds_for_the_models_information_is_not_the_prompt():
    request = read(
        user(text("<system-reminder>\nnot said by anyone\n</system-reminder>\n"), text("hello")),
        {"role": "system", "content": [text("# Environment")]},
    )

    assert request.conversation.prompt == "hello"


def test_a_conversation_that_ends_with_a_tools_result_still_has_its_prompt():
    request = read(
        user(text("look")),
        call("t1", "irc read x"),
        user(result("t1", [text("a\nb")]), text("<system-reminder>x</system-reminder>")),
    )

    assert request.conversation.prompt == "look"
    assert request.conversation.result == ToolOutput("Bash", "irc read x", "a\nb")


def test_another_clis_tool_for_commands_is_bash_to_scripts():
    called = {"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": "ls"}}
    request = read(user(text("look")), {"role": "assistant", "content": [called]}, user(result("t1", "a")))

    assert request.conversation.result == ToolOutput("Bash", "ls", "a")


def test_a_failed_tool_is_seen_as_failed():
    request = read(user(text("look")), call("t1", "false"), user(result("t1", "exit 1", is_error=True)))

    assert request.conversation.result == ToolOutput("Bash", "false", "exit 1", has_failed=True)


def test_the_clis_word_for_no_output_is_no_output():
    request = read(user(text("x")), call("t1", "true"), user(result("t1", "(Bash completed with no output)")))

    assert request.conversation.result.output == ""


def test_what_the_user_says_after_a_result_is_a_prompt_again():
    request = read(user(text("one")), call("t1", "sleep 9"), user(result("t1", "stopped"), text("two")))

    assert request.conversation.prompt == "two"
    assert request.conversation.result is None


def test_the_question_for_a_title_is_an_aside_and_answered_by_its_schema():
    schema = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
    request = read(
        user(text("<session>\n[IRC DM] <ori> hi\n</session>")),
        tools=[],
        output_config={"format": {"type": "json_schema", "schema": schema}},
    )

    assert request.aside == (ReplyText('{"title": "Rehearsal"}'),)


def test_a_probe_of_one_token_is_an_aside():
    assert read(user(text("quota")), max_tokens=1).aside is not None


def test_what_an_agent_is_asked_is_no_aside():
    assert read(user(text("hello"))).aside is None
    assert read(user(text("hello")), tools=[]).aside is None


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"{}", b'{"model": "m"}', b'{"model": "m", "messages": []}', b"\xff\xfe"],
)
def test_what_is_no_request_is_refused(body):
    with pytest.raises(BadRequest):
        anthropic.read(body)


@pytest.mark.parametrize("content", [None, 3, [], [3], [{}], [{"type": "image"}], {"type": "text"}])
def test_content_of_any_shape_is_read(content):
    assert read({"role": "user", "content": content}).conversation.prompt == ""


def test_a_token_is_about_four_bytes():
    body = json.dumps({"model": "m", "messages": [user(text("x" * 4000))]}).encode()

    assert anthropic.count_tokens(body) == {"input_tokens": len(body) // 4}
    assert anthropic.read(body).input_tokens == len(body) // 4


# Rendering


def test_a_text_is_one_block_however_many_steps_and_events_it_comes_in():
    stream = events((ReplyText("a text that is longer than one event "), Delay(1), ReplyText("holds")))

    assert [part["type"] for part in stream if isinstance(part, dict)] == [
        "message_start",
        "ping",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    deltas = [
        part["delta"]["text"]
        for part in stream
        if isinstance(part, dict) and "index" in part and "delta" in part
    ]
    assert "".join(deltas) == "a text that is longer than one event holds"
    assert stream[-2]["delta"] == {"stop_reason": "end_turn", "stop_sequence": None}
    assert Delay(1) in stream


def test_the_input_of_a_tool_comes_in_pieces_of_its_json():
    stream = events((ReplyText("so:"), ToolCall("Bash", {"command": "echo ü " + "x" * 50})))

    start = next(part for part in stream if part["type"] == "content_block_start" and part["index"] == 1)
    assert start["content_block"] == {"type": "tool_use", "id": "toolu_2", "name": "Bash", "input": {}}
    pieces = [part["delta"]["partial_json"] for part in stream if part.get("index") == 1 and "delta" in part]
    assert len(pieces) > 1
    assert json.loads("".join(pieces)) == {"command": "echo ü " + "x" * 50}
    assert stream[-2]["delta"]["stop_reason"] == "tool_use"


def test_blocks_do_not_overlap():
    assert [
        (part["type"].removeprefix("content_block_"), part["index"])
        for part in events((ReplyText("a"), ToolCall("A", {}), ToolCall("B", {}), ReplyText("b")))
        if "index" in part and "delta" not in part
    ] == [(kind, index) for index in range(4) for kind in ("start", "stop")]


def test_a_dropped_or_stalled_stream_ends_there():
    assert kinds((ReplyText("a"), Drop()))[-2:] == ["content_block_delta", Drop()]
    assert kinds((ReplyText("a"), Stall()))[-2:] == ["content_block_delta", Stall()]


def test_an_error_after_content_is_an_event():
    last = events((ReplyText("a"), Fail(529, "busy")))[-1]

    assert last == {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}


def test_an_error_has_the_type_of_its_status_unless_it_is_given_one():
    assert anthropic.failure(Fail(401, "no"))["error"]["type"] == "authentication_error"
    assert anthropic.failure(Fail(502, "no"))["error"]["type"] == "api_error"
    assert anthropic.failure(Fail(401, "no", "odd"))["error"]["type"] == "odd"


def test_a_whole_reply_has_the_same_content_as_a_streamed_one():
    request = read(user(text("hi")))

    message = anthropic.whole(
        request, (ReplyText("a"), ReplyText("b"), ToolCall("Bash", {"command": "ls"})), ids()
    )

    assert message["id"] == "msg_1"
    assert message["content"] == [
        {"type": "text", "text": "ab"},
        {"type": "tool_use", "id": "toolu_2", "name": "Bash", "input": {"command": "ls"}},
    ]
    assert message["stop_reason"] == "tool_use"
    assert message["usage"]["input_tokens"] == request.input_tokens
