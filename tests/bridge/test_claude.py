"""The real Claude CLI uses the bridge, on the rehearsal model."""

import os
import socket
import sys
from pathlib import Path

import pytest
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ResultMessage
from support.bridge import BridgeProcess, text_of
from support.irc import connected
from support.servers import Server

from culture.config.loader import parse
from culture.rehearsal.environment import environment
from culture.rehearsal.script import Script
from culture.rehearsal.server import RehearsalServer

# Each test starts a server and a bridge, which imports much.
pytestmark = pytest.mark.timeout(180)

SCRIPT = """
rules:
  - prompt: report
    answer:
      - tool: {name: mcp__culture__wiki_write, input: {page: sprint, text: "# Sprint"}}
  - after_tool: mcp__culture__wiki_write
    answer:
      - tool: {name: mcp__culture__send_message, input: {channel: "#project", text: the sprint page is there}}
  - after_tool: mcp__culture__send_message
    answer:
      - text: Reported.
"""


async def test_claude_writes_a_page_and_tells_the_channel(server: Server, bridge: BridgeProcess, home: Path):
    headers = {"Authorization": f"Bearer {bridge.tokens['harper']}"}
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        options = ClaudeAgentOptions(
            env=environment(url)
            | {
                "HOME": str(home),
                "PATH": os.environ["PATH"],
                "IS_SANDBOX": "",
                "ENABLE_TOOL_SEARCH": "false",
            },
            cwd=home,
            mcp_servers={"culture": {"type": "http", "url": bridge.url, "headers": headers}},
            allowed_tools=["mcp__culture__wiki_write", "mcp__culture__send_message"],
            setting_sources=[],
            stderr=sys.stderr.write,
        )
        async with (
            RehearsalServer(parse(SCRIPT, Script, where="script.yaml")) as model,
            connected(server.address.port, "ori", "#project") as ori,
        ):
            await model.listen([listener])
            async with ClaudeSDKClient(options) as claude:
                await claude.query("report")
                results = [
                    each async for each in claude.receive_response() if isinstance(each, ResultMessage)
                ]
            line = await ori.until(":the sprint page is there")

    assert [result.result for result in results] == ["Reported."]
    assert ":harper" in line
    async with bridge.client("harper") as client:
        read = await client.call_tool("wiki_read", {"page": "sprint"})
    assert "# Sprint" in text_of(read)
    assert read.structured_content["author"] == "harper"
