"""The bridge as a service: its sandbox lets it serve, run git and speak IRC, and nothing more."""

import http.client
import json
from typing import Any

import pytest
from support.irc import connected
from system.hostlab.host import Host
from system.hostlab.waiting import eventually

from culture.bridge.tokens import hash_token, new_token

pytestmark = [pytest.mark.system, pytest.mark.timeout(600)]

SERVICE = "culture-bridge.service"
SOCKET = "culture-bridge.socket"
TOKEN = new_token()
CONFIG = f"""
server: {{name: spark}}
channels: ["#project"]
clients:
  - name: harper
    nick: spark-harper
    token_sha256: {hash_token(TOKEN)}
"""


@pytest.fixture
def bridge(spark: Host) -> Host:
    """A host whose bridge starts with the first request."""
    spark.write("/etc/culture/bridge.yaml", CONFIG)
    spark.systemctl("enable", "--now", SOCKET)
    return spark


def call(host: Host, tool: str, **arguments: Any) -> dict[str, Any]:
    """The result of a tool, by plain HTTP: the first request starts the service."""
    connection = http.client.HTTPConnection("127.0.0.1", 8090, timeout=60)
    connection.sock = host.connect(8090)
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    }
    headers = {
        "Authorization": f"Bearer {TOKEN}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-11-25",
    }
    connection.request("POST", "/mcp", json.dumps(body), headers)
    response = connection.getresponse()
    text = response.read().decode()
    assert response.status == 200, text
    result: dict[str, Any] = json.loads(text)["result"]
    connection.close()
    return result


async def test_it_starts_with_the_first_request_and_serves_channels_and_wiki(bridge: Host):
    async with connected(bridge.connect(6667), "spark-ori", "#project") as ori:
        sent = call(bridge, "send_message", channel="#project", text="hello from the bridge")
        assert not sent.get("isError"), sent
        assert "spark-harper" in await ori.until(":hello from the bridge")
        read = call(bridge, "read_messages", channel="#project")["structuredContent"]["result"]
        assert [row["text"] for row in read] == ["hello from the bridge"]

    written = call(bridge, "wiki_write", page="plans/disk", text="# Plan\n")
    assert not written.get("isError"), written
    found = call(bridge, "wiki_search", query="plan")["structuredContent"]["result"]
    assert [row["page"] for row in found] == ["plans/disk", "plans/disk"]
    log = bridge.run("git", "-C", "/var/lib/culture/bridge/wiki.git", "-c", "safe.directory=*", "log", "main")
    assert "Author: spark-harper" in log.stdout

    assert bridge.property(SERVICE, "User") == "culture-bridge"
    assert bridge.property(SERVICE, "StatusText") == "serving http://127.0.0.1:8090/mcp for 1 clients"
    bridge.systemctl("restart", SERVICE)
    assert call(bridge, "wiki_list")["structuredContent"]["result"] == ["plans/disk"]


def test_a_wrong_configuration_is_told_and_closes_the_socket(spark: Host):
    spark.systemctl("start", SOCKET)
    spark.run("systemctl", "start", SERVICE, check=False)

    eventually(
        lambda: spark.property(SOCKET, "ActiveState") == "inactive", within_s=20, what="the socket is closed"
    )
    assert spark.property(SERVICE, "ExecMainStatus") == "78"
    said = spark.run("journalctl", "--no-pager", f"--unit={SERVICE}").stdout
    assert "no clients are configured" in said


def test_a_reload_with_a_mistake_fails_and_the_bridge_goes_on(bridge: Host):
    assert call(bridge, "wiki_list")["structuredContent"]["result"] == []
    bridge.write("/etc/culture/bridge.yaml", CONFIG + "unknown: true\n")

    assert bridge.run("systemctl", "reload", SERVICE, check=False).returncode != 0
    assert call(bridge, "wiki_list")["structuredContent"]["result"] == []
