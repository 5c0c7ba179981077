"""The tools of the bridge, called by the MCP project's own client, on real IRC servers."""

import asyncio
import contextlib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from mcp import Client
from support.bridge import BridgeProcess, text_of
from support.irc import connected
from support.servers import Server

# Each test starts a server and a bridge, which imports much.
pytestmark = pytest.mark.timeout(180)

FIVE = ["send_message", "read_messages", "create_channel", "list_channels", "get_members"]
WIKI = [
    "read",
    "write",
    "edit",
    "list",
    "search",
    "history",
    "recent_changes",
    "rename",
    "delete",
    "template",
]

every_server = pytest.mark.parametrize("server", ["culture-ircd", "inspircd", "ngircd"], indirect=True)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_there_are_five_tools_for_channels_and_those_of_the_wiki(bridge: BridgeProcess, mode: str):
    """In both eras of the protocol: with a handshake and without."""
    async with bridge.client("harper", mode) as client:
        tools = (await client.list_tools()).tools

    assert [tool.name for tool in tools] == [*FIVE, *(f"wiki_{name}" for name in WIKI)]
    assert all(tool.description for tool in tools)
    (send,) = (tool for tool in tools if tool.name == "send_message")
    assert send.input_schema["required"] == ["channel", "text"]


@every_server
async def test_people_and_clients_talk_to_each_other(server: Server, bridge: BridgeProcess):
    async with connected(server.address.port, "ori") as ori, bridge.client("harper") as harper:
        await harper.call_tool("create_channel", {"name": "#project"})
        ori.send("JOIN #project")
        await ori.until(" 366 ori #project ")

        sent = await harper.call_tool(
            "send_message", {"channel": "#project", "text": "I start with the disk"}
        )
        assert (sent.is_error, text_of(sent)) == (False, "sent to #project as harper")
        line = await ori.until(":I start with the disk")
        assert ":harper" in line

        ori.send("PRIVMSG #project :thank you")
        async with asyncio.timeout(20):
            while True:
                read = await harper.call_tool("read_messages", {"channel": "#project", "limit": 2})
                rows = read.structured_content["result"]
                if rows and rows[0]["text"] == "thank you":
                    break
                await asyncio.sleep(0.05)
        assert [row["sender"].partition("/")[0] for row in rows] == ["ori", "harper"]
        assert rows[0]["channel"] == "#project"
        assert datetime.fromisoformat(rows[0]["timestamp"]).tzinfo is not None

        listed = await harper.call_tool("list_channels", {})
        assert "#project" in listed.structured_content["result"]
        members = await harper.call_tool("get_members", {"channel": "#project"})
        assert {"ori", "bridge"} <= set(members.structured_content["result"])


async def test_messages_are_read_since_a_time(bridge: BridgeProcess):
    async with bridge.client("harper") as client:
        await client.call_tool("send_message", {"channel": "#project", "text": "early"})
        for since, expected in [
            ((datetime.now(UTC) - timedelta(hours=1)).isoformat(), 1),
            ((datetime.now(UTC) + timedelta(hours=1)).isoformat(), 0),
        ]:
            read = await client.call_tool("read_messages", {"channel": "#project", "since": since})
            assert len(read.structured_content["result"]) == expected
        wrong = await client.call_tool("read_messages", {"channel": "#project", "since": "yesterday"})
        assert (wrong.is_error, "hint: write it as" in text_of(wrong)) == (True, True)


async def test_long_text_arrives_whole(server: Server, bridge: BridgeProcess):
    text = "\n".join(f"step {number}: " + "é" * 300 for number in range(12))
    async with connected(server.address.port, "ori", "#project") as ori, bridge.client("harper") as client:
        sent = await client.call_tool("send_message", {"channel": "#project", "text": text})
        assert not sent.is_error
        heard = ""
        while len(heard) < len(text.replace("\n", "").replace(" ", "")):
            line = await ori.read()
            assert line
            if " PRIVMSG #project :" in line:
                heard += line.partition(" PRIVMSG #project :")[2].replace(" ", "")
        assert heard == text.replace("\n", "").replace(" ", "")


async def test_five_clients_at_once_get_their_own_answers(bridge: BridgeProcess):
    async def talk(number: int) -> str:
        async with bridge.client("team") as client:
            sender = f"member-{number}"
            arguments = {"channel": "#project", "text": f"I am {number}", "sender": sender}
            return text_of(await client.call_tool("send_message", arguments))

    answers = await asyncio.gather(*map(talk, range(5)))
    assert answers == [f"sent to #project as member-{number}" for number in range(5)]
    async with bridge.client("team") as client:
        read = await client.call_tool("read_messages", {"channel": "#project"})
    said = {(row["sender"].partition("/")[0], row["text"]) for row in read.structured_content["result"]}
    assert said == {(f"member-{number}", f"I am {number}") for number in range(5)}


async def test_the_wiki_is_written_read_and_protected_against_stale_writes(bridge: BridgeProcess):
    async with bridge.client("harper") as harper, bridge.client("team") as team:
        page = {"page": "plans/disk"}
        await harper.call_tool("wiki_write", {**page, "text": "# Plan\n- logs: open\n"})
        read = (await team.call_tool("wiki_read", page)).structured_content
        assert (read["author"], read["text"]) == ("harper", "# Plan\n- logs: open\n")

        edit = {**page, "old": "open", "new": "done", "sender": "member-1", "summary": "Logs are gone"}
        assert not (await team.call_tool("wiki_edit", edit)).is_error
        stale = await harper.call_tool("wiki_write", {**page, "text": "# Other\n", "base": read["revision"]})
        assert stale.is_error
        assert "has changed since then" in text_of(stale)
        assert "member-1: Logs are gone" in text_of(stale)
        assert "+- logs: done" in text_of(stale)

        history = (await harper.call_tool("wiki_history", page)).structured_content["result"]
        assert [row["author"] for row in history] == ["member-1", "harper"]
        found = (await harper.call_tool("wiki_search", {"query": "logs"})).structured_content["result"]
        assert found == [{"page": "plans/disk", "line_number": 2, "line": "- logs: done"}]
        await harper.call_tool("wiki_rename", {**page, "new_name": "plans/logs"})
        assert (await harper.call_tool("wiki_list", {})).structured_content["result"] == ["plans/logs"]
        base = (await harper.call_tool("wiki_read", {"page": "plans/logs"})).structured_content["revision"]
        await harper.call_tool("wiki_delete", {"page": "plans/logs", "base": base})
        recent = (await harper.call_tool("wiki_recent_changes", {"limit": 1})).structured_content["result"]
        assert (recent[0]["summary"], recent[0]["pages"]) == ("Delete plans/logs", ["plans/logs"])
        template = text_of(await harper.call_tool("wiki_template", {"template": "handoff"}))
        assert "## Open questions" in template


async def test_injection_in_a_channel_name_is_refused(bridge: BridgeProcess):
    async with bridge.client("harper") as client:
        for channel in ("#a\r\nQUIT", "#a,#b", "#a b", "ori", "@#project", ""):
            await refuse_channel(client, channel)


async def refuse_channel(client: Client, channel: str) -> None:
    for tool, arguments in [
        ("send_message", {"channel": channel, "text": "x"}),
        ("read_messages", {"channel": channel}),
        ("create_channel", {"name": channel}),
        ("get_members", {"channel": channel}),
    ]:
        result = await client.call_tool(tool, arguments)
        assert (result.is_error, "is not the name of a channel" in text_of(result)) == (True, True)


async def test_injection_in_a_text_or_a_page_is_only_text(bridge: BridgeProcess):
    async with bridge.client("harper") as client:
        arguments = {"channel": "#project", "text": "hello\r\nJOIN #secret\r\nQUIT"}
        assert not (await client.call_tool("send_message", arguments)).is_error
        assert "#secret" not in (await client.call_tool("list_channels", {})).structured_content["result"]
        escape = await client.call_tool("wiki_write", {"page": "../../etc/passwd", "text": "x"})
        assert (escape.is_error, "is not the name of a page" in text_of(escape)) == (True, True)


async def test_a_client_goes_on_after_a_restart_of_the_bridge(home: Path, server: Server):
    bridge = BridgeProcess(home, server.address)
    bridge.add_client("harper", "harper")
    bridge.write()
    async with connected(server.address.port, "ori", "#project"), contextlib.AsyncExitStack() as stack:
        async with bridge.running():
            client = await stack.enter_async_context(bridge.client("harper"))
            await client.call_tool("send_message", {"channel": "#project", "text": "before"})
            await client.call_tool("wiki_write", {"page": "sprint", "text": "one"})
        async with bridge.running():
            read = await client.call_tool("read_messages", {"channel": "#project"})
            assert [row["text"] for row in read.structured_content["result"]] == ["before"]
            assert text_of(await client.call_tool("wiki_list", {})) == "sprint"
