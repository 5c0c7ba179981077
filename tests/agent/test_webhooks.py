"""Webhooks reach a real HTTP receiver, and a broken one costs a line in the journal and nothing else."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from aiohttp import web
from support.http import serving_http

from culture.agent.reporting.journal_events import JournalEvents
from culture.agent.reporting.webhooks import MAX_PENDING, Notification, WebhookEvent, Webhooks, make_request
from culture.config.agent.webhooks import WebhooksConfig
from culture.config.loader import parse
from culture.errors import ConfigError, TemporaryError

CRASH = Notification(
    WebhookEvent.ERROR, "spark-claude", "crashed: process exited with code 1", "#ops", "3f2a"
)
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


JOURNAL = JournalEvents("spark-claude", "claude")


def failures(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the journal says about webhooks."""
    return [record.getMessage() for record in caplog.records if "webhook" in record.getMessage()]


class Receiver:
    """An HTTP server on loopback that keeps what it was sent."""

    def __init__(self) -> None:
        self.url = ""
        self.bodies: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.answer: Answer | None = None

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.bodies.append(await request.text())
        self.headers.append(dict(request.headers))
        return await self.answer(request) if self.answer is not None else web.Response(status=204)


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", receiver.handle)
    async with serving_http(app) as receiver.url:
        yield receiver


async def test_an_error_is_posted_as_json(receiver: Receiver, caplog: pytest.LogCaptureFixture):
    webhooks = Webhooks(WebhooksConfig(url=receiver.url), JOURNAL, token="sesame")

    webhooks.notify(CRASH)
    await webhooks.close()

    sent = json.loads(receiver.bodies[0])
    assert sent.pop("time").endswith("Z")
    assert sent == {
        "event": "agent_error",
        "nick": "spark-claude",
        "text": "crashed: process exited with code 1",
        "message": "[ERROR] spark-claude crashed: process exited with code 1",
        "place": "#ops",
        "turn": "3f2a",
    }
    assert receiver.headers[0]["Authorization"] == "Bearer sesame"
    assert failures(caplog) == []


async def test_single_events_have_addresses_of_their_own(receiver: Receiver):
    config = WebhooksConfig(
        url=f"{receiver.url}/all", events=("agent_complete",), on_error=f"{receiver.url}/e"
    )
    webhooks = Webhooks(config, JOURNAL)

    webhooks.notify(CRASH)
    webhooks.notify(Notification(WebhookEvent.TIMEOUT, "spark-claude", "got no answer"))
    await webhooks.close()

    assert len(receiver.bodies) == 1


@pytest.mark.parametrize("status", [302, 404, 500])
async def test_a_receiver_that_refuses_is_logged(
    receiver: Receiver, status: int, caplog: pytest.LogCaptureFixture
):
    async def refuse(_: web.Request) -> web.Response:
        return web.Response(status=status, headers={"Location": f"{receiver.url}/elsewhere"})

    receiver.answer = refuse
    webhooks = Webhooks(WebhooksConfig(url=receiver.url), JOURNAL)

    webhooks.notify(CRASH)
    await webhooks.close()

    assert failures(caplog) == [f"the webhook for agent_error failed: the receiver answered {status}"]
    assert len(receiver.bodies) == 1


async def test_a_receiver_that_is_down_is_logged_without_its_address(
    unused_tcp_port: int, caplog: pytest.LogCaptureFixture
):
    webhooks = Webhooks(WebhooksConfig(url=f"http://127.0.0.1:{unused_tcp_port}/secret"), JOURNAL)

    webhooks.notify(CRASH)
    await webhooks.close()

    [failure] = failures(caplog)
    assert failure.startswith("the webhook for agent_error failed: ")
    assert "secret" not in failure


async def test_a_slow_receiver_holds_up_nobody(receiver: Receiver, caplog: pytest.LogCaptureFixture):
    release = asyncio.Event()

    async def wait(_: web.Request) -> web.Response:
        await release.wait()
        return web.Response()

    receiver.answer = wait
    webhooks = Webhooks(WebhooksConfig(url=receiver.url), JOURNAL, timeout_s=0.2)

    for _ in range(MAX_PENDING + 3):
        webhooks.notify(CRASH)
    assert len(failures(caplog)) == 3
    await webhooks.close()
    release.set()

    assert len(failures(caplog)) == MAX_PENDING + 3
    assert "no response within" in failures(caplog)[-1]


def test_each_kind_gets_the_body_that_its_service_reads():
    discord = json.loads(make_request("discord", CRASH, "http://x").body)
    assert discord["content"] == "[ERROR] spark-claude crashed: process exited with code 1"
    assert discord["allowed_mentions"] == {"parse": []}

    loud = Notification(WebhookEvent.ERROR, "spark-claude", "says <!channel>")
    slack = json.loads(make_request("slack", loud, "http://x").body)
    assert slack["text"] == "[ERROR] spark-claude says &lt;!channel&gt;"

    ntfy = make_request("ntfy", CRASH, "http://x/topic")
    assert ntfy.body == b"crashed: process exited with code 1"
    assert ntfy.headers["Title"] == "spark-claude: error"


async def test_a_template_replaces_the_body(receiver: Receiver):
    webhooks = Webhooks(WebhooksConfig(url=receiver.url, template="{{ nick }} in {{ place }}"), JOURNAL)

    webhooks.notify(CRASH)
    await webhooks.close()

    assert receiver.bodies == ["spark-claude in #ops"]
    assert receiver.headers[0]["Content-Type"].startswith("text/plain")


def test_a_wrong_template_is_a_configuration_error():
    for source in ("{{ nick", "{{ nosuch }}"):
        with pytest.raises(ConfigError, match="is not a template"):
            Webhooks(WebhooksConfig(template=source), JOURNAL)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("url: ftp://x", "is not an http:// or https:// address"),
        ("url: 'http://'", "is not an http:// or https:// address"),
        ("events: [agent_bored]", "'agent_bored' is not an event"),
        ("irc_channel: alerts", "is not a channel"),
        ("url: http://x\nurl_credential: y", "exclude each other"),
    ],
)
def test_mistakes_are_told(text: str, wrong: str):
    with pytest.raises(ConfigError, match=wrong):
        parse(text, WebhooksConfig, where="agents.yaml")


def test_alerts_go_to_a_channel_as_soon_as_there_is_an_address():
    assert WebhooksConfig().alerts_channel == ""
    assert WebhooksConfig(on_question="http://x").alerts_channel == "#alerts"
    assert WebhooksConfig(url="http://x", irc_channel="#ops").alerts_channel == "#ops"


async def test_people_are_told_what_happens_to_an_agent(make_agent, ori, receiver, eventually):
    agent = make_agent("spark-claude", webhooks=WebhooksConfig(url=receiver.url))
    ori.send("JOIN #alerts")
    async with agent.running():
        await eventually(agent.is_present)
        await eventually(lambda: "#alerts" in agent.channels)
        ori.send("PRIVMSG #general :spark-claude: tidy up")
        await eventually(lambda: agent.prompts)
        asked = {"type": "irc_ask", "channel": "#general", "question": "Delete 47 files?", "timeout": 1}
        with pytest.raises(TemporaryError):
            await agent.daemon.handle(asked)
        await agent.runner.ends_turn()
        await ori.until("NOTICE #alerts :[COMPLETE] spark-claude finished task")
        await agent.runner.dies()
        await eventually(lambda: len(receiver.bodies) >= 4)

    events = [json.loads(body)["event"] for body in receiver.bodies]
    assert events == ["agent_question", "agent_timeout", "agent_complete", "agent_error"]
    messages = [json.loads(body)["message"] for body in receiver.bodies]
    assert messages[0] == '[QUESTION] spark-claude needs input: "Delete 47 files?"'
    assert messages[2] == '[COMPLETE] spark-claude finished task "spark-claude: tidy up"'
    assert messages[3].startswith("[ERROR] spark-claude crashed: ")


async def test_a_crash_of_an_idle_backend_is_told_once(make_agent, ori, receiver, eventually):
    agent = make_agent("spark-claude", webhooks=WebhooksConfig(url=receiver.url))
    ori.send("JOIN #alerts")
    async with agent.running():
        await eventually(lambda: agent.is_present() and "#alerts" in agent.channels, 20)
        await agent.runner.dies(1)
        told = await ori.until("NOTICE #alerts")
        await eventually(lambda: len(agent.runners) == 2 and agent.runner.is_up, 20)
        # Whatever else was told of it came before the end of another turn.
        ori.send("PRIVMSG #general :spark-claude: tidy up")
        await eventually(lambda: agent.prompts, 20)
        await agent.runner.ends_turn()
        await eventually(lambda: "agent_complete" in str(receiver.bodies), 20)

    assert ":[ERROR] spark-claude crashed: claude ended with status 1" in told
    events = [json.loads(body)["event"] for body in receiver.bodies]
    assert sorted(events) == ["agent_complete", "agent_error"]
    assert sum("NOTICE #alerts" in line and "crashed" in line for line in ori.seen) == 1
