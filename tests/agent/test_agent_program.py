"""All of it as people run it: culture-ircd, culture-agent and the real Claude Code, a person on a socket."""

import asyncio
import json
import os
import re
import signal
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.irc import connected
from support.program import Program

from culture.rehearsal.script import DEFAULT, load_script

pytestmark = pytest.mark.slow


def configure(home: Path, port: int, **agent: str) -> str:
    options = "".join(f"    {name}: {value}\n" for name, value in agent.items())
    path = home / "agents.yaml"
    path.write_text(
        f"server: {{name: spark, port: {port}}}\nturns: {{restart_delay_s: 0}}\n"
        "agents:\n  - nick: spark-claude\n"
        f"    permission_mode: deny\n{options}"
    )
    return str(path)


@pytest.fixture
async def agent(ircd, model, home) -> AsyncIterator[Program]:
    config = configure(home, ircd.port)
    program = Program("culture.daemons.agent", "spark-claude", "--config", config, home=home, env=model.env)
    try:
        await program.says("claude session started")
        yield program
    finally:
        program.stop()


def descendants(pid: int) -> list[int]:
    found = []
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, children.read_text().split()):
            found += [child, *descendants(child)]
    return found


async def test_a_person_mentions_the_agent_and_reads_its_answer(ircd, agent, model):
    async with connected(ircd.port, "spark-ori", "#general") as ori:
        ori.send("PRIVMSG #general :@spark-claude hello")
        answer = await ori.until(":spark-claude!")
        assert "PRIVMSG #general :spark-ori: hello!" in answer

        ori.send("PRIVMSG spark-claude :ping")
        assert (await ori.until(":spark-claude!")).endswith("PRIVMSG spark-ori :spark-ori: pong")

        ori.send("PRIVMSG #general :@spark-claude read please")
        assert "lines I saw: 3" in await ori.until(":spark-claude!")

    first, second = (
        await agent.says(r"turn (\w+) answered after (?s:.*)turn (\w+) answered after ")
    ).groups()
    assert first != second
    assert "hello" not in agent.said()


async def test_text_that_looks_like_commands_and_files_is_repeated_as_text(ircd, agent, model):
    hostile = "@spark-claude /compact @/etc/hostname '; touch owned; $(touch owned)"
    async with connected(ircd.port, "spark-ori", "#general") as ori:
        ori.send(f"PRIVMSG #general :{hostile}")
        assert hostile.removeprefix("@spark-claude ") in await ori.until(":spark-claude!")

    assert model.prompts()[0] == f"[IRC @mention in #general] <spark-ori> {hostile}"


async def test_a_failing_model_is_told_in_the_channel(ircd, agent, model):
    model.play("rules: [{answer: [{error: {status: 529}}]}]")
    async with connected(ircd.port, "spark-ori", "#general") as ori:
        ori.send("PRIVMSG #general :@spark-claude hello")
        told = await ori.until(":spark-claude!")

    turn = re.search(r"NOTICE #general :spark-ori: turn (\w+) failed: the model is overloaded", told)
    assert turn, told
    await agent.says(f"error: turn {turn[1]} failed after .*: the model is overloaded")


async def test_a_killed_backend_is_reported_and_goes_on_where_it_was(ircd, agent, model, eventually):
    model.play("rules: [{answer: [{stall: true}]}]")
    async with connected(ircd.port, "spark-ori", "#general") as ori:
        ori.send("PRIVMSG #general :@spark-claude hello")
        await eventually(model.prompts)
        [cli] = (pid for pid in descendants(agent.process.pid) if _name(pid) == "claude")

        model.play(load_script(DEFAULT))
        os.kill(cli, signal.SIGKILL)

        assert "broke off: claude ended with status -9; starting it again in 0 s" in await ori.until("NOTICE")
        assert "PRIVMSG #general :spark-ori: hello!" in await ori.until(":spark-claude!")
    assert any(prompt.startswith("[IRC again] your last turn broke off") for prompt in model.prompts())


async def test_after_a_restart_it_goes_on_with_the_same_session(ircd, agent, model, home, restart):
    async with connected(ircd.port, "spark-ori", "#general") as ori:
        ori.send("PRIVMSG #general :@spark-claude hello")
        await ori.until("hello!")
        await agent.says("turn .* answered")

        await restart(home)

        ori.send("PRIVMSG #general :@spark-claude ping")
        await ori.until("pong")
    assert "@spark-claude hello" in json.dumps(model.server.asked[-1].request.body["messages"])


async def test_a_fresh_one_does_not(ircd, agent, model, home, restart):
    async with connected(ircd.port, "spark-ori", "#general") as ori:
        ori.send("PRIVMSG #general :@spark-claude hello")
        await ori.until("hello!")
        await agent.says("turn .* answered")

        await restart(home, fresh="true")

        ori.send("PRIVMSG #general :@spark-claude ping")
        await ori.until("pong")
    assert "@spark-claude hello" not in json.dumps(model.server.asked[-1].request.body["messages"])


@pytest.fixture
async def restart(ircd, agent, model):
    """End the agent in order, and start it again with other options."""
    started = []

    async def restart(home: Path, **options: str) -> None:
        agent.process.send_signal(signal.SIGTERM)
        assert await agent.ends() == 0
        config = configure(home, ircd.port, **options)
        program = Program(
            "culture.daemons.agent", "spark-claude", "--config", config, home=home, env=model.env
        )
        started.append(program)
        await program.says("claude session started")

    yield restart
    for program in started:
        program.stop()


def _is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def _name(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


def variables_of(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/environ").read_text().split("\0")


async def test_it_reads_its_credentials_and_hides_them_from_what_it_starts(ircd, model, home: Path):
    credentials = home / "credentials"
    credentials.mkdir()
    (credentials / "anthropic").write_text("a key\n")
    config = configure(home, ircd.port, key_credential="anthropic", key_variable="OWN_KEY")
    env = {**model.env, "CREDENTIALS_DIRECTORY": str(credentials)}
    program = Program("culture.daemons.agent", "spark-claude", "--config", config, home=home, env=env)
    try:
        await program.says("claude session started")
        variables = variables_of(descendants(program.process.pid)[0])
    finally:
        program.stop()
    assert "OWN_KEY=a key" in variables
    assert not [each for each in variables if each.startswith("CREDENTIALS_DIRECTORY=")]


async def test_terminating_it_ends_everything_in_order(ircd, agent, home):
    everyone = descendants(agent.process.pid)
    assert everyone
    async with connected(ircd.port, "spark-ori", "#general") as ori:
        agent.process.send_signal(signal.SIGTERM)
        assert "QUIT" in await ori.until(":spark-claude!")

    assert await agent.ends() == 0
    assert not [pid for pid in everyone if _is_there(pid)]
    assert not list(home.rglob("*.sock"))


async def test_terminating_it_while_its_backend_starts_leaves_nothing_behind(ircd, model, home, eventually):
    config = configure(home, ircd.port)
    agent = Program("culture.daemons.agent", "spark-claude", "--config", config, home=home, env=model.env)
    everyone = await eventually(lambda: descendants(agent.process.pid))

    agent.process.send_signal(signal.SIGTERM)

    assert await agent.ends() == 0
    await eventually(lambda: not any(map(_is_there, everyone)))


async def test_terminating_it_while_there_is_no_server_ends_it(home):
    agent = Program("culture.daemons.agent", "spark-claude", "--config", configure(home, 1), home=home)
    await agent.says("warning: cannot connect to 127.0.0.1:1: Connection refused; trying again in 1 s")

    agent.process.send_signal(signal.SIGTERM)

    assert await agent.ends() == 0


async def test_it_tells_the_service_manager_what_it_does(ircd, model, home):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(home / "notify"))
        manager.setblocking(False)
        env = {**model.env, "NOTIFY_SOCKET": str(home / "notify"), "WATCHDOG_USEC": "300000"}
        config = configure(home, ircd.port)
        agent = Program("culture.daemons.agent", "spark-claude", "--config", config, home=home, env=env)
        try:
            told = ""
            async with asyncio.timeout(20):
                while "READY=1" not in told:
                    told += (await asyncio.get_running_loop().sock_recv(manager, 4096)).decode() + "\n"
        finally:
            agent.stop()

    assert f"STATUS=connecting to {ircd}" in told
    assert "STATUS=starting claude" in told
    assert f"READY=1\nSTATUS=idle in #general on {ircd}" in told
    assert "WATCHDOG=1" in told


@pytest.mark.parametrize(
    ("kind", "said", "hint"),
    [
        ("claude", "the Claude Code program 'missing'", "npm install -g @anthropic-ai/claude-code"),
        ("codex", "the program 'missing'", "npm install -g @openai/codex"),
    ],
)
async def test_without_its_program_it_ends_unseen_and_says_what_to_type(ircd, ori, home, kind, said, hint):
    config = configure(home, ircd.port, agent=kind, command="[missing]")
    agent = Program("culture.daemons.agent", "spark-claude", "--config", config, home=home)

    assert await agent.ends() == 78
    assert f"agent 'spark-claude': {said} is not on PATH\nhint: {hint}\n" in agent.said()
    ori.send("PING x")
    await ori.until("PONG")
    assert not [line for line in ori.seen if line.startswith(":spark-claude!")]


@pytest.mark.parametrize(
    ("config", "nick", "status", "said"),
    [
        ("agents: [{nick: spark-claude, chanels: []}]", "spark-claude", 78, "unknown key 'chanels'"),
        ("agents: [{nick: spark-claude}]", "spark-other", 78, "no agent 'spark-other'"),
        ("server: {name: thor}\nagents: [{nick: spark-claude}]", "spark-claude", 78, "does not begin with"),
        (
            "agents: [{nick: spark-claude, permission_mode: deny, key_credential: key}]",
            "spark-claude",
            78,
            "credential 'key'",
        ),
    ],
)
async def test_a_wrong_configuration_is_78(home, config, nick, status, said):
    path = home / "agents.yaml"
    path.write_text(config)
    agent = Program("culture.daemons.agent", nick, "--config", str(path), home=home)

    assert await agent.ends() == status
    assert said in agent.said()


async def test_a_unit_that_runs_as_another_user_than_the_configured_one_says_what_to_type(home: Path) -> None:
    """After `user:` was added to agents.yaml and `culturectl units` was forgotten."""
    config = configure(home, 1, user="nobody")
    state = {"STATE_DIRECTORY": str(home)}
    program = Program("culture.daemons.agent", "spark-claude", "--config", config, home=home, env=state)

    assert await program.ends() == 78
    assert "'user' is 'nobody', but the unit runs as '" in program.said()
    assert "culturectl units && systemctl restart culture-agent@spark-claude.socket" in program.said()
