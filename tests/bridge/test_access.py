"""Who may use the bridge, and as whom: tokens, audiences, senders, channels, limits, addresses."""

import asyncio
import hashlib
import json
import signal
import ssl
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from support.bridge import BridgeProcess, text_of
from support.certificates import make_pair
from support.program import Program
from support.servers import Server

jwt = pytest.importorskip("jwt", reason="PyJWT is not installed")
ec = pytest.importorskip(
    "cryptography.hazmat.primitives.asymmetric.ec", reason="cryptography is not installed"
)

# Each test starts a server and a bridge, which imports much.
pytestmark = pytest.mark.timeout(180)

ISSUER = "https://id.example"
LIST_TOOLS = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
HEADERS = {
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2025-11-25",
}


class Issuer:
    """Issues OAuth access tokens."""

    def __init__(self, place: Path) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        public = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(self._key.public_key()))
        self.keys_file = place / "keys.json"
        self.keys_file.write_text(json.dumps({"keys": [{**public, "kid": "one"}]}))

    def token(self, **claims: Any) -> str:
        usual = {"iss": ISSUER, "exp": time.time() + 60, "preferred_username": "ori"}
        token: str = jwt.encode({**usual, **claims}, self._key, "ES256", headers={"kid": "one"})
        return token


@pytest.fixture
async def protected(home: Path, server: Server) -> AsyncIterator[tuple[BridgeProcess, Issuer]]:
    """A bridge that takes tokens of its own and those of an issuer."""
    made, issuer = BridgeProcess(home, server.address), Issuer(home)
    made.settings["oauth"] = {"keys_file": str(issuer.keys_file), "issuer": ISSUER, "audience": made.url}
    made.add_client("harper", "harper")
    made.settings["clients"].append({"name": "delegate", "nick": "ori", "subject": "ori", "wiki": "none"})
    async with made.running():
        yield made, issuer


async def post(url: str, token: str | None, **headers: str) -> httpx2.Response:
    sent = {**HEADERS, **headers}
    if token is not None:
        sent["Authorization"] = f"Bearer {token}"
    async with httpx2.AsyncClient(timeout=30) as http:
        return await http.post(url, json=LIST_TOOLS, headers=sent)


async def test_only_a_valid_token_is_let_in_and_a_refusal_says_where_to_get_one(
    protected: tuple[BridgeProcess, Issuer],
):
    bridge, issuer = protected
    good = [bridge.tokens["harper"], issuer.token(aud=bridge.url)]
    bad = [
        None,
        "x",
        "culture_" + "A" * 43,
        bridge.tokens["harper"][:-1],
        # What is stored is not what is shown.
        bridge.settings["clients"][0]["token_sha256"],
        issuer.token(aud="https://elsewhere.example/mcp"),
        issuer.token(),
        issuer.token(aud=bridge.url, iss="https://other.example"),
        issuer.token(aud=bridge.url, exp=1),
        issuer.token(aud=bridge.url, preferred_username="mallory"),
        Issuer(bridge.home / "server").token(aud=bridge.url),
    ]

    assert [(await post(bridge.url, token)).status_code for token in good] == [200, 200]
    for token in bad:
        refused = await post(bridge.url, token)
        assert refused.status_code == 401, token
        metadata = f"http://127.0.0.1:{bridge.port}/.well-known/oauth-protected-resource/mcp"
        assert f'resource_metadata="{metadata}"' in refused.headers["www-authenticate"]
    # RFC 9728: anybody may read it.
    async with httpx2.AsyncClient(timeout=30) as http:
        told = (await http.get(metadata)).json()
    assert (told["resource"], told["authorization_servers"]) == (bridge.url, [ISSUER])


async def test_an_oauth_token_speaks_as_the_person_it_names(protected: tuple[BridgeProcess, Issuer]):
    bridge, issuer = protected
    bridge.tokens["delegate"] = issuer.token(aud=bridge.url)
    async with bridge.client("delegate") as client:
        sent = await client.call_tool("send_message", {"channel": "#project", "text": "go ahead"})
        assert text_of(sent) == "sent to #project as ori"
        for tool, arguments in [("wiki_list", {}), ("wiki_write", {"page": "x", "text": "x"})]:
            refused = await client.call_tool(tool, arguments)
            assert (refused.is_error, "may not" in text_of(refused)) == (True, True)


async def test_other_hosts_origins_paths_and_large_requests_are_refused(bridge: BridgeProcess):
    token = bridge.tokens["harper"]

    assert (await post(bridge.url, token, Host="evil.example")).status_code == 421
    assert (await post(bridge.url, token, Origin="https://evil.example")).status_code == 403
    assert (await post(bridge.url + "/x", token)).status_code == 404
    async with httpx2.AsyncClient(timeout=30) as http:
        headers = {**HEADERS, "Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        large = await http.post(bridge.url, content=b"x" * 1_100_000, headers=headers)
    assert large.status_code == 413


async def test_a_sender_a_channel_and_the_wiki_are_fixed_by_the_token(bridge: BridgeProcess):
    async with bridge.client("team") as team, bridge.client("guest") as guest:
        for sender in ("harper", "member", "x-member-1", "member-1 x", "bridge", "member-1\r\nQUIT"):
            arguments = {"channel": "#project", "text": "x", "sender": sender}
            refused = await team.call_tool("send_message", arguments)
            assert refused.is_error
            assert "this token may not speak as" in text_of(refused)
            assert "hint: leave 'sender' out to speak as em" in text_of(refused)
        arguments = {"channel": "#project", "text": "x", "sender": "member-1"}
        assert text_of(await team.call_tool("send_message", arguments)) == "sent to #project as member-1"

        refused = await team.call_tool("read_messages", {"channel": "#general"})
        assert text_of(refused).endswith(
            "this token may not use the channel '#general'\nhint: it may use: #project, #work-*"
        )
        await guest.call_tool("create_channel", {"name": "#general"})
        listed = (await team.call_tool("list_channels", {})).structured_content["result"]
        assert listed == ["#project"]

        assert not (await guest.call_tool("wiki_list", {})).is_error
        refused = await guest.call_tool("wiki_write", {"page": "sprint", "text": "x"})
        assert text_of(refused).endswith("this token may not change the wiki")
        refused = await team.call_tool("wiki_write", {"page": "sprint", "text": "x", "sender": "harper"})
        assert "may not speak as 'harper'" in text_of(refused)


async def test_who_asks_too_often_is_refused(home: Path, server: Server):
    bridge = BridgeProcess(home, server.address, limits={"requests_per_s": 1, "request_burst": 2})
    bridge.add_client("harper", "harper")
    async with bridge.running(), bridge.client("harper") as client:
        results = await asyncio.gather(*(client.call_tool("wiki_list", {}) for _ in range(40)))
    refused = [text_of(each) for each in results if each.is_error]
    assert refused
    assert (
        refused[0]
        == "Error executing tool wiki_list: too many requests\nhint: wait some seconds, and read less often"
    )


async def test_a_reload_takes_a_token_away(home: Path, server: Server, eventually):
    bridge = BridgeProcess(home, server.address)
    bridge.add_client("harper", "harper")
    bridge.add_client("jules", "jules")
    async with bridge.running() as program:
        assert (await post(bridge.url, bridge.tokens["harper"])).status_code == 200
        bridge.path.write_text("clients: [broken")
        program.process.send_signal(signal.SIGHUP)
        await program.says("keeping the old clients")
        bridge.settings["clients"].pop(0)
        bridge.write()
        program.process.send_signal(signal.SIGHUP)
        await program.says("reloaded")

        assert (await post(bridge.url, bridge.tokens["harper"])).status_code == 401
        assert (await post(bridge.url, bridge.tokens["jules"])).status_code == 200


async def refusal(bridge: BridgeProcess, *options: str) -> tuple[int, str]:
    bridge.write()
    program = Program("culture.daemons.bridge", "--config", str(bridge.path), *options, home=bridge.home)
    return await program.ends(), program.said()


async def test_it_does_not_listen_beyond_loopback_without_protection(home: Path, server: Server):
    bridge = BridgeProcess(home, server.address)
    bridge.add_client("harper", "harper")
    for address in (f"0.0.0.0:{bridge.port}", f"[::]:{bridge.port}", f"spark.example:{bridge.port}"):
        bridge.settings["listen"] = [address]
        status, said = await refusal(bridge, "--check")
        assert (status, "would travel unencrypted" in said) == (78, True)
        assert "hint: set tls.certificate" in said
    bridge.settings["listen"] = [f"0.0.0.0:{bridge.port}"]
    assert (await refusal(bridge))[0] == 78


async def test_it_does_not_start_without_clients(home: Path, server: Server):
    status, said = await refusal(BridgeProcess(home, server.address))

    assert status == 78
    assert "hint: culture-bridge --new-token" in said


async def test_behind_a_trusted_proxy_it_listens_on_all_addresses(home: Path, server: Server):
    bridge = BridgeProcess(home, server.address, trusted_proxies=["192.0.2.1/32"])
    bridge.add_client("harper", "harper")
    bridge.settings["listen"] = [f"0.0.0.0:{bridge.port}"]
    bridge.settings["url"] = "https://culture.example/mcp"
    async with bridge.running():
        # A proxy on this machine passes the name on that the client asked for.
        answer = await post(bridge.url, bridge.tokens["harper"], Host="culture.example")
        assert answer.status_code == 200


async def test_by_tls_everybody_needs_a_token(home: Path, server: Server):
    pair = make_pair(home, "localhost")
    tls = {"certificate": str(pair.certificate), "key": str(pair.key)}
    bridge = BridgeProcess(home, server.address, tls=tls)
    bridge.settings["listen"] = [f"0.0.0.0:{bridge.port}"]
    bridge.settings["url"] = f"https://localhost:{bridge.port}/mcp"
    bridge.add_client("harper", "harper")
    context = ssl.create_default_context(cafile=str(pair.certificate))
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    async with bridge.running(), httpx2.AsyncClient(verify=context, timeout=30) as http:
        url = bridge.settings["url"]
        refused = await http.post(url, json=LIST_TOOLS, headers=HEADERS)
        allowed = await http.post(
            url, json=LIST_TOOLS, headers={**HEADERS, "Authorization": f"Bearer {bridge.tokens['harper']}"}
        )
        assert (refused.status_code, allowed.status_code) == (401, 200)


async def test_a_token_is_printed_with_its_hash(home: Path):
    program = Program("culture.daemons.bridge", "--new-token", home=home)
    assert await program.ends() == 0
    words = dict(line.split(": ") for line in program.said().splitlines())
    bridge_hash = hashlib.sha256(words["token"].encode()).hexdigest()
    assert words["token_sha256"] == bridge_hash
