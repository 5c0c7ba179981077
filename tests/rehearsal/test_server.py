import asyncio
import json
import logging
import time

import aiohttp
import pytest

from culture.config.loader import parse
from culture.rehearsal.script import Script

TITLE = {
    "tools": [],
    "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}},
}


async def events_of(response):
    """The events of a stream as a client takes them apart, by blank lines."""
    events = (await response.read()).decode().split("\n\n")
    assert events.pop() == ""
    return [json.loads(event.partition("data: ")[2]) for event in events]


async def until_said(response, words):
    """Read on until these words have come, and no further than what came with them."""
    received = b""
    while f'"{words}"}}}}\n\n'.encode() not in received:
        received += await response.content.readany()


@pytest.fixture(autouse=True)
def nothing_is_logged_as_an_error(caplog):
    yield
    assert [record for record in caplog.get_records("call") if record.levelno >= logging.ERROR] == []


async def test_a_reply_is_streamed_as_server_sent_events(play):
    async with (
        play("rules: [{answer: [{text: 'hello, wörld'}]}]") as stage,
        stage.ask("hi", stream=True) as got,
    ):
        assert got.status == 200
        assert got.content_type == "text/event-stream"
        events = await events_of(got)

    assert [event["type"] for event in events] == [
        "message_start",
        "ping",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert events[3]["delta"] == {"type": "text_delta", "text": "hello, wörld"}


async def test_a_reply_is_one_document_for_who_does_not_stream(play):
    async with play("rules: [{answer: [{text: a}, {run: [ls, 'a b']}]}]") as stage, stage.ask("hi") as got:
        message = await got.json()

    assert [block["type"] for block in message["content"]] == ["text", "tool_use"]
    assert message["content"][1]["input"] == {"command": "ls 'a b'"}
    assert message["usage"]["output_tokens"] > 1


async def test_no_two_replies_or_tool_calls_have_the_same_id(play):
    async with play("rules: [{answer: [{run: [ls]}]}]") as stage:
        ids = set()
        for _ in range(3):
            async with stage.ask("hi") as got:
                message = await got.json()
            ids |= {message["id"], message["content"][0]["id"]}

    assert len(ids) == 6


@pytest.mark.parametrize("stream", [True, False])
async def test_an_error_before_any_content_is_a_status(play, stream):
    script = "rules: [{answer: [{delay_s: 0}, {error: {status: 529, message: busy}}]}]"
    async with play(script) as stage, stage.ask("hi", stream=stream) as got:
        assert got.status == 529
        assert await got.json() == {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}


async def test_an_error_after_content_is_the_last_event(play):
    script = "rules: [{answer: [{text: a}, {error: {status: 500}}]}]"
    async with play(script) as stage, stage.ask("hi", stream=True) as got:
        events = await events_of(got)

    assert got.status == 200
    assert events[-1]["error"]["type"] == "api_error"


async def test_a_dropped_stream_has_sent_what_came_before_and_no_more(play):
    script = "rules: [{answer: [{text: half a}, {drop: true}]}]"
    async with play(script) as stage, stage.ask("hi", stream=True) as got:
        await until_said(got, "half a")
        with pytest.raises(aiohttp.ClientPayloadError):
            await got.content.readany()


async def test_a_drop_before_any_content_is_a_connection_that_closes(play):
    async with play("rules: [{answer: [{drop: true}]}]") as stage:
        with pytest.raises(aiohttp.ServerDisconnectedError):
            await stage.ask("hi")


async def test_after_a_drop_the_server_answers_others(play):
    script = "rules: [{times: 1, answer: [{drop: true}]}, {answer: [{text: again}]}]"
    async with play(script) as stage:
        with pytest.raises(aiohttp.ClientError):
            await stage.ask("hi", stream=False)
        async with stage.ask("hi") as got:
            assert (await got.json())["content"] == [{"type": "text", "text": "again"}]


async def test_a_delay_is_waited_for_between_the_words(play):
    script = "rules: [{answer: [{text: one}, {delay_s: 0.2}, {text: two}]}]"
    async with play(script) as stage, stage.ask("hi", stream=True) as got:
        await until_said(got, "one")
        began = time.monotonic()
        await until_said(got, "two")

    assert time.monotonic() - began > 0.1


async def test_a_stalled_stream_says_nothing_until_the_server_stops(play):
    async with play("rules: [{answer: [{text: one}, {stall: true}]}]") as stage:
        got = await stage.ask("hi", stream=True)
        await until_said(got, "one")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(got.content.readany(), 0.15)
        got.close()
        waiting = await stage.ask("hi", stream=True)
        began = time.monotonic()

    waiting.close()
    assert time.monotonic() - began < 5


async def test_a_client_that_goes_away_in_the_middle_is_nobodys_problem(play):
    long = "x" * 200_000
    script = f"rules: [{{answer: [{{text: {long}}}, {{delay_s: 0.05}}, {{text: {long}}}]}}]"
    async with play(script) as stage:
        got = await stage.ask("hi", stream=True)
        got.close()
        async with stage.ask("hi") as other:
            assert other.status == 200


async def test_what_the_cli_asks_on_the_side_uses_up_no_rule(play):
    async with play("rules: [{times: 1, answer: [{text: mine}]}]") as stage:
        async with stage.ask("<session>hello</session>", **TITLE) as got:
            assert (await got.json())["content"] == [{"type": "text", "text": "{}"}]
        async with stage.ask("count", max_tokens=1) as got:
            assert got.status == 200
        async with stage.ask("hello") as got:
            assert (await got.json())["content"] == [{"type": "text", "text": "mine"}]

        assert [asked.is_aside for asked in stage.server.asked] == [True, True, False]


async def test_tokens_are_counted(play):
    body = {"model": "m", "messages": [{"role": "user", "content": "x" * 400}]}
    async with play("rules: []") as stage:
        got = await stage.http.post(f"{stage.url}/v1/messages/count_tokens", json=body)
        counted = await got.json()

    assert 100 <= counted["input_tokens"] < 130


async def test_what_is_no_request_is_refused_in_the_words_of_the_api(play):
    async with play("rules: []") as stage:
        for path in ("/v1/messages", "/v1/messages/count_tokens"):
            async with stage.http.post(stage.url + path, data=b"{") as got:
                assert got.status == 400
                assert (await got.json())["error"]["type"] == "invalid_request_error"


async def test_the_cli_finds_someone_at_home(play):
    async with play("rules: []") as stage:
        for path in ("/", "/api/hello"):
            async with stage.http.head(stage.url + path) as got:
                assert got.status == 200
        async with stage.http.get(f"{stage.url}/v1/models") as got:
            assert [model["type"] for model in (await got.json())["data"]]
        async with stage.http.get(f"{stage.url}/v1/models/claude-x") as got:
            assert (await got.json())["id"] == "claude-x"


async def test_what_the_api_has_and_we_have_not_is_not_found(play):
    async with play("rules: []") as stage, stage.http.post(f"{stage.url}/v1/messages/batches") as got:
        assert got.status == 404
        assert (await got.json())["error"]["type"] == "not_found_error"


async def test_a_person_can_see_what_was_asked(play):
    async with play("rules: [{name: greeting, answer: [{run: [irc, send]}]}]") as stage:
        async with stage.ask("hello"):
            pass
        async with stage.http.get(f"{stage.url}/rehearsal/requests") as got:
            [asked] = await got.json()

    assert (asked["prompt"], asked["rule"], asked["reply"]) == ("hello", "greeting", ["Bash: irc send"])


async def test_another_script_can_be_played_without_a_restart(play):
    async with play("rules: [{answer: [{text: old}]}]") as stage:
        stage.server.play(parse("rules: [{answer: [{text: new}]}]", Script, where="new.yaml"))
        async with stage.ask("hello") as got:
            assert (await got.json())["content"][0]["text"] == "new"


# The same script in every wire format

OPENAI = {
    "/v1/chat/completions": {"model": "m", "messages": [{"role": "user", "content": "hi"}]},
    "/v1/responses": {"model": "m", "input": "hi"},
}


@pytest.mark.parametrize("path", OPENAI)
async def test_openais_formats_are_streamed_or_one_document(play, path):
    async with play("rules: [{prompt: '^hi$', answer: [{text: hello}]}]") as stage:
        async with stage.http.post(stage.url + path, json=OPENAI[path]) as got:
            assert got.content_type == "application/json"
            assert "hello" in await got.text()
        async with stage.http.post(stage.url + path, json=OPENAI[path] | {"stream": True}) as got:
            assert got.content_type == "text/event-stream"
            assert "hello" in await got.text()


@pytest.mark.parametrize("path", OPENAI)
@pytest.mark.parametrize("stream", [True, False])
async def test_openais_formats_fail_as_the_script_says(play, path, stream):
    body = OPENAI[path] | {"stream": stream}
    script = "rules: [{times: 1, answer: [{error: {status: 429, message: slow}}]}, {answer: [{drop: true}]}]"
    async with play(script) as stage:
        async with stage.http.post(stage.url + path, json=body) as got:
            assert got.status == 429
            assert (await got.json())["error"]["message"] == "slow"
        with pytest.raises(aiohttp.ClientError):
            async with stage.http.post(stage.url + path, json=body) as got:
                await got.read()


@pytest.mark.parametrize("path", OPENAI)
async def test_what_is_no_request_is_refused_in_openais_words(play, path):
    async with play("rules: []") as stage, stage.http.post(stage.url + path, data=b"{") as got:
        assert got.status == 400
        assert (await got.json())["error"]["code"] == "invalid_request_error"
