"""`irc mcp`: the skill as tools, asked by the MCP project's own client and line by line."""

import asyncio
import io
import json
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from support.irc import connected

from culture.agent.skill.mcp import serve
from culture.agent.skill.verbs import VERBS

COMMAND = ["-m", "culture.agent.skill.irc", "mcp"]


def tools_of(agent) -> Client:
    """As a coding agent starts it."""
    env = {"CULTURE_NICK": "spark-claude", "CULTURE_SOCKET": str(agent.socket), "CULTURE_WHISPERS": "own"}
    return Client(StdioServerParameters(command=sys.executable, args=COMMAND, env=env))


async def test_every_verb_is_a_tool_with_its_parameters(agent):
    async with tools_of(agent) as client:
        listed = (await client.list_tools()).tools

    assert [tool.name for tool in listed] == [verb.request for verb in VERBS.values()]
    (ask,) = (tool for tool in listed if tool.name == "irc_ask")
    assert ask.input_schema["required"] == ["channel", "question"]
    assert ask.input_schema["properties"]["timeout"]["type"] == "integer"


async def test_a_model_speaks_and_is_told_what_is_wrong(ircd, agent):
    async with connected(ircd.port, "spark-ori", "#general") as ori, tools_of(agent) as client:
        said = await client.call_tool("irc_send", {"channel": "#general", "message": "hello"})
        assert (said.is_error, said.content[0].text) == (False, "sent")
        assert (await ori.until("PRIVMSG")).endswith(":hello")

        wrong = await client.call_tool("irc_send", {"channel": "spark-nobody", "message": "hello"})
        assert (wrong.is_error, wrong.content[0].text) == (True, "'spark-nobody': No such nick/channel")
        half = await client.call_tool("irc_send", {"channel": "#general"})
        assert (half.is_error, half.content[0].text) == (True, "irc_send: 'message' must be text")


async def test_a_whisper_comes_in_front_of_the_next_result(agent):
    async with tools_of(agent) as client:
        agent.daemon.whispers.add("ask for help", "CORRECTION")
        told = (await client.call_tool("irc_channels", {})).content[0].text

    assert told == "[SUPERVISOR/CORRECTION] ask for help\n#general  1"


async def test_other_calls_go_on_while_a_question_waits(ircd, agent):
    async with connected(ircd.port, "spark-ori", "#general") as ori, tools_of(agent) as client:
        asked = {"channel": "#general", "question": "which disk?", "timeout": 20}
        asking = asyncio.create_task(client.call_tool("irc_ask", asked))
        await ori.until(':"which disk?"')

        assert (await client.call_tool("irc_channels", {})).content[0].text == "#general  2"
        ori.send("PRIVMSG #general :@spark-claude the second one")

        assert (await asking).content[0].text == "<spark-ori> @spark-claude the second one"


class Pipes:
    """The program, and what is written to it and read from it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def asks(self, *messages: dict | bytes) -> dict:
        """Write all of these, and read one answer."""
        for message in messages:
            line = (
                message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
            )
            self.process.stdin.write(line + b"\n")
        async with asyncio.timeout(10):
            return json.loads(await self.process.stdout.readline())


@pytest.fixture
async def pipes(agent):
    process = await asyncio.create_subprocess_exec(
        sys.executable, *COMMAND, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        env={"CULTURE_SOCKET": str(agent.socket)},
    )  # fmt: skip
    yield Pipes(process)
    async with asyncio.timeout(10):
        await process.communicate(b"")
    assert process.returncode == 0


def answers_to(*lines: bytes) -> list[dict]:
    """Without a daemon behind it."""
    requests, answers = io.BytesIO(b"".join(line + b"\n" for line in lines)), io.BytesIO()
    serve(Path("/nowhere"), requests, answers)
    return [json.loads(line) for line in answers.getvalue().splitlines()]


@pytest.mark.parametrize(
    ("asked", "agreed"),
    [("2024-11-05", "2024-11-05"), ("2025-06-18", "2025-06-18"), ("1999-01-01", "2025-11-25")],
)
def test_versions_are_agreed_on(asked, agreed):
    params = {"protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    (answer,) = answers_to(hello.encode(), b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')

    assert answer["result"]["protocolVersion"] == agreed
    assert answer["result"]["serverInfo"]["name"] == "irc"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"hello", -32700),
        (b"[" * 100_000, -32700),
        (b"[]", -32600),
        (b'{"jsonrpc": "2.0", "id": [7], "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "prompts/list"}', -32601),
        (b'{"jsonrpc": "2.0", "id": 7, "method": ["ping"]}', -32601),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "rm"}}', -32602),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": [1]}', -32602),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": ["a"]}}', -32602),
    ],
)
def test_what_is_no_request_is_refused_and_the_next_one_answered(line, code):
    answers = answers_to(line, b'{"jsonrpc": "2.0", "id": 8, "method": "ping"}')

    assert sorted(answer["error"]["code"] for answer in answers if "error" in answer) == [code]
    assert {"jsonrpc": "2.0", "id": 8, "result": {}} in answers


async def test_a_question_that_is_cancelled_waits_no_longer(ircd, agent, pipes, eventually):
    async with connected(ircd.port, "spark-ori", "#general") as ori:
        asked = {"name": "irc_ask", "arguments": {"channel": "#general", "question": "which disk?"}}
        call = {"id": "q", "method": "tools/call", "params": asked}
        assert (await pipes.asks(call, {"id": 2, "method": "ping"}))["id"] == 2
        await ori.until(':"which disk?"')

        cancel = {"method": "notifications/cancelled", "params": {"requestId": "q"}}
        assert (await pipes.asks(cancel, {"id": 3, "method": "ping"}))["id"] == 3

        ori.send("PRIVMSG #general :@spark-claude the second one")
        await eventually(lambda: agent.prompts)
    assert agent.prompts[0].startswith("[IRC answer to question ")


async def test_the_end_of_its_input_ends_it_with_what_waits(ircd, agent, pipes):
    async with connected(ircd.port, "spark-ori", "#general") as ori:
        asked = {"name": "irc_ask", "arguments": {"channel": "#general", "question": "which disk?"}}
        await pipes.asks({"id": "q", "method": "tools/call", "params": asked}, {"id": 2, "method": "ping"})
        await ori.until(':"which disk?"')
