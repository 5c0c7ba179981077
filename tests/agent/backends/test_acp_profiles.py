"""The ACP driver on the agents that it knows, besides the one that goes through the whole contract."""

import asyncio
import json
import os
import signal
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from support.backends import CLINE, CODEX_ACP, OPENCODE, ROWS, Row
from support.watched import ENDLESS, OK, ends, processes, program_of

from culture.agent.contract import ContextChanged
from culture.agent.tools.ipc import IpcServer
from culture.agent.tools.model_tools import make_tools
from culture.agent.tools.whispers import Whispers
from culture.config.address import UnixAddress
from culture.net.listen.listeners import FOR_THE_OWNER, open_listener

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


def with_rows(**rows: Row) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("row", [pytest.param(row, id=name) for name, row in rows.items()])


def told(model) -> str:
    return json.dumps([each.request.body for each in model.server.asked], ensure_ascii=False)


@with_rows(opencode=OPENCODE, cline=CLINE)
async def test_it_answers_by_its_skill_and_asks_before(agent, model, judge, home, eventually):
    await agent.runner.send_prompt("[IRC @mention in #general] <spark-ori> @spark-agent ping")

    [result] = await ends(agent, eventually)

    assert (home / "said").read_text() == "['send', '#general', 'spark-ori: pong']\n"
    assert [request.command for request in judge.asked] == ["irc send '#general' 'spark-ori: pong'"]
    assert not result.failed
    assert "You are spark-agent." in told(model)


@with_rows(opencode=OPENCODE, cline=CLINE, codex=CODEX_ACP)
async def test_what_a_tool_returned_is_told_after_its_call(start, row, judge, model, eventually):
    agent = await start(judge=None if row is CODEX_ACP else judge)
    model.play("rules: [{after_tool: any, answer: [{text: done}]}, {answer: [{run: [echo, out of it]}]}]")
    await agent.runner.send_prompt("go")
    await ends(agent, eventually)

    [use], [returned] = agent.uses(), agent.tool_results()
    assert (returned.id, returned.failed) == (use.id, False)
    assert "out of it" in returned.text


@with_rows(opencode=OPENCODE, cline=CLINE)
async def test_what_the_judge_refuses_is_not_done(agent, model, judge, home, eventually):
    judge.refuses = True
    for turn, command in enumerate(("[touch, owned]", "[ls]")):
        model.play(f"rules: [{{after_tool: any, answer: [{{text: ok}}]}}, {{answer: [{{run: {command}}}]}}]")
        await agent.runner.send_prompt("go")
        await ends(agent, eventually, turn + 1)

    assert len(judge.asked) == 2
    assert not (home / "work" / "owned").exists()


@with_rows(codex=CODEX_ACP)
async def test_without_a_judge_its_own_sandbox_is_not_in_the_way(start, model, home, eventually):
    """It would keep the agent from the socket of its skill."""
    outside = home / "outside"
    touch = f"answer: [{{run: [touch, {outside}]}}]"
    model.play(f"rules: [{{after_tool: any, answer: [{{text: done}}]}}, {{{touch}}}]")
    agent = await start("go", judge=None)
    await ends(agent, eventually)

    assert outside.exists()


TEXTS = ("/compact", "/nonsense", "\ufeff/compact", " /status", "look at @secret.txt and @./secret.txt")


@with_rows(opencode=OPENCODE, cline=CLINE, codex=CODEX_ACP)
async def test_text_is_text_whatever_it_looks_like(start, row, spec, model, home, eventually):
    (home / "work" / "secret.txt").write_text("the secret content")
    model.play(OK)
    agent = await start("first", judge=None)
    for text in TEXTS:
        await agent.runner.send_prompt(text)

    results = await ends(agent, eventually, 1 + len(TEXTS))

    assert not any(result.failed for result in results)
    assert [row.said(prompt) for prompt in model.prompts()] == ["first", *TEXTS]
    assert "the secret content" not in told(model)


@with_rows(opencode=OPENCODE, cline=CLINE, codex=CODEX_ACP)
async def test_nothing_outlives_a_killed_program(start, model, mark, eventually):
    model.play(ENDLESS)
    agent = await start("go", judge=None)
    await eventually(lambda: any("tail -f" in command for command in processes(mark).values()), within_s=30)

    os.kill(program_of(mark), signal.SIGKILL)

    assert await eventually(lambda: agent.exits, within_s=30) == [-9]
    assert [result.failed for result in agent.results()] == [True]
    assert processes(mark) == {}


@with_rows(cline=CLINE)
async def test_cline_starts_no_daemon(agent, model, mark, eventually):
    """It would outlive the program, and serve every other cline on the host."""
    model.play(OK)
    await agent.runner.send_prompt("hello")
    await ends(agent, eventually)

    assert {os.getsid(pid) for pid in processes(mark)} == {program_of(mark)}


@with_rows(opencode=OPENCODE, cline=CLINE, codex=CODEX_ACP)
async def test_another_runner_goes_on_with_the_session(start, model, eventually):
    model.play(OK)
    first = await start("the colour is vermilion", judge=None)
    await ends(first, eventually)
    session = first.runner.session_id
    await first.runner.stop()

    second = await start("which colour?", judge=None, resume=session)
    await ends(second, eventually)

    assert second.runner.session_id == session
    assert "vermilion" in json.dumps(model.server.asked[-1].request.body)
    # What was said before is not said again.
    assert [text for text in second.texts() if not text.startswith("Warning")] == ["ok"]


@with_rows(opencode=OPENCODE)
async def test_opencode_serves_nobody_without_the_password(agent, mark, eventually):
    [port] = await eventually(lambda: ports_of(processes(mark)))

    with pytest.raises(urllib.error.HTTPError) as refused:
        await asyncio.to_thread(urllib.request.urlopen, f"http://127.0.0.1:{port}/config", timeout=10)

    with refused.value as answer:
        assert answer.code == 401


def ports_of(pids) -> set[int]:
    """The TCP ports on which these processes listen."""
    links = [link for pid in pids for link in Path(f"/proc/{pid}/fd").iterdir()]
    sockets = {os.readlink(link)[8:-1] for link in links if os.readlink(link).startswith("socket:[")}
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A" and row[9] in sockets}


@with_rows(opencode=OPENCODE)
async def test_opencode_tries_a_broken_api_without_end_and_can_be_stopped(agent, model, eventually):
    model.play("rules: [{answer: [{error: {status: 500}}]}]")
    await agent.runner.send_prompt("hello")
    await eventually(lambda: len(model.prompts()) > 1, within_s=30)

    await agent.runner.interrupt()

    # It calls that the end of a turn like any other.
    [result] = await ends(agent, eventually)
    assert (result.failed, result.error) == (True, "interrupted")
    model.play(OK)
    await agent.runner.send_prompt("and now?")
    assert not (await ends(agent, eventually, 2))[1].failed


@with_rows(cline=CLINE)
async def test_cline_tells_no_figures_and_cannot_compact(agent, model, eventually):
    model.play(OK)
    await agent.runner.send_prompt("hello")
    await agent.runner.compact()

    [context] = await eventually(agent.contexts, within_s=60)

    [result] = agent.results()
    assert (result.usage, result.cost_usd, result.context) == (None, None, None)
    assert context == ContextChanged("compacted", "cline has no command to sum up its context")


@with_rows(cline=CLINE)
async def test_the_turn_of_a_reply_that_breaks_off_has_failed(agent, model, eventually):
    """Half of it was told: ACP has no word for taking back what was said."""
    # At once, the end may be seen before the beginning. That is an API it cannot reach, which it tries again
    # and again, and waits twice as long each time.
    model.play("rules: [{answer: [{text: half}, {delay_s: 0.5}, {drop: true}]}]")
    await agent.runner.send_prompt("hello")

    [result] = await ends(agent, eventually)

    assert result.failed
    assert "".join(agent.texts()) == "half"


@with_rows(opencode=OPENCODE)
async def test_a_model_that_is_not_offered_is_named_with_some_that_are(spec, row, start):
    with pytest.raises(Exception, match="does not take the model 'no/such'") as refused:
        await start(model="no/such")
    assert "anthropic/" in refused.value.hint


@pytest.fixture
async def socket_of_the_daemon(home):
    """Where `irc` finds one, and what it was asked."""
    asked: list[dict] = []

    async def handle(request):
        asked.append(request)
        return {"lines": 1}

    path = home / "agent.sock"
    listener = open_listener(UnixAddress(str(path)), unix_mode=FOR_THE_OWNER)
    server = IpcServer(handle, Whispers())
    await server.start(listener)
    yield path, asked
    await server.stop()
    listener.close()


@with_rows(claude=ROWS["acp"], opencode=OPENCODE)
async def test_the_skill_is_offered_as_tools_and_they_are_judged_by_their_own_names(
    start, spec, model, judge, socket_of_the_daemon, eventually
):
    path, asked = socket_of_the_daemon
    irc = Path(sys.executable).parent
    env = {**spec.env, "CULTURE_SOCKET": str(path), "PATH": f"{irc}{os.pathsep}{spec.env['PATH']}"}
    model.play(OK)
    agent = await start("hello", env=env, tools=make_tools(None, Whispers()))
    await ends(agent, eventually)
    tools = model.server.asked[-1].request.conversation.tools
    [name] = [name for name in tools if name.endswith("irc_send")]

    arguments = "{channel: '#ops', message: hi}"
    call = f"answer: [{{tool: {{name: {name}, input: {arguments}}}}}]"
    model.play(f"rules: [{{after_tool: any, answer: [{{text: done}}]}}, {{{call}}}]")
    await agent.runner.send_prompt("speak")
    await ends(agent, eventually, 2)

    assert [(request["type"], request["message"]) for request in asked] == [("irc_send", "hi")]
    assert [request.tool for request in judge.asked] == ["irc_send"]
