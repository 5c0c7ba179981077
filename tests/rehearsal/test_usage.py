"""Scripts that say what a reply costs, and what the response tells about quotas."""

import json

import pytest

USAGE = "usage: {input_tokens: 150000, cached_tokens: 120000, output_tokens: 8000}"
COSTLY = f"rules: [{{answer: [{{text: done}}], {USAGE}}}]"


async def test_the_script_says_which_tokens_a_message_reports(play):
    async with play(COSTLY) as stage, stage.ask("hi") as got:
        usage = (await got.json())["usage"]

    assert usage["input_tokens"] == 30_000
    assert usage["cache_read_input_tokens"] == 120_000
    assert usage["output_tokens"] == 8_000


async def test_a_stream_reports_the_input_first_and_the_output_last(play):
    async with play(COSTLY) as stage, stage.ask("hi", stream=True) as got:
        parts = (await got.read()).decode().split("\n\n")
    events = [json.loads(part.partition("data: ")[2]) for part in parts if part]

    assert events[0]["message"]["usage"]["input_tokens"] == 30_000
    assert events[-2]["usage"] == {"output_tokens": 8_000}


@pytest.mark.parametrize(
    ("path", "given", "names"),
    [
        ("responses", {"input": "hi"}, ("input_tokens", "input_tokens_details", "output_tokens")),
        (
            "chat/completions",
            {"messages": [{"role": "user", "content": "hi"}]},
            ("prompt_tokens", "prompt_tokens_details", "completion_tokens"),
        ),
    ],
)
async def test_the_formats_of_openai_report_the_same_tokens(play, path, given, names):
    async with (
        play(COSTLY) as stage,
        stage.http.post(f"{stage.url}/v1/{path}", json={"model": "gpt", **given}) as got,
    ):
        usage = (await got.json())["usage"]

    total, details, made = (usage[name] for name in names)
    assert (total, details["cached_tokens"], made) == (150_000, 120_000, 8_000)
    assert usage["total_tokens"] == 158_000


async def test_what_the_script_does_not_say_is_estimated(play):
    script = "rules: [{answer: [{text: done}], usage: {output_tokens: 7}}]"
    async with play(script) as stage, stage.ask("hi") as got:
        usage = (await got.json())["usage"]

    assert usage["output_tokens"] == 7
    assert 0 < usage["input_tokens"] < 1000


@pytest.mark.parametrize("stream", [False, True])
async def test_replies_and_errors_have_the_headers_of_the_script(play, stream):
    script = """
rules:
  - {times: 1, answer: [{text: ok}], headers: {anthropic-ratelimit-unified-status: allowed}}
  - {answer: [{error: {status: 429}}], headers: {Retry-After: '30'}}
"""
    async with play(script) as stage:
        async with stage.ask("hi", stream=stream) as reply:
            assert (reply.status, reply.headers["anthropic-ratelimit-unified-status"]) == (200, "allowed")
        async with stage.ask("hi", stream=stream) as refusal:
            assert (refusal.status, refusal.headers["retry-after"]) == (429, "30")
