"""culturectl with a running agent: what it does, what was said to it, and whether it may go on."""

import asyncio
import contextlib
import json
import os
import re
import sys
from collections.abc import Sequence

import pytest
from support.irc import connected
from support.nobody import as_nobody

from culture.config.agents import TurnsConfig
from culture.store.agent.file import AgentFile
from culture.store.agent.queue import QueuedMessage

_PROGRAM = "culture.ctl.main"
_AS_OURSELVES = (sys.executable, "-m", _PROGRAM)


@pytest.fixture
def culturectl(agent, home):
    """Runs it as a person who has the agent's socket in their home."""
    (home / "run").mkdir()
    (home / "run" / "spark-claude.sock").symlink_to(agent.socket)

    async def run(*words: str, command: Sequence[str] = _AS_OURSELVES) -> tuple[int, str, str]:
        process = await asyncio.create_subprocess_exec(
            *command, *words,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            env={"PATH": os.environ["PATH"], "CULTURE_HOME": str(home)},
        )  # fmt: skip
        async with asyncio.timeout(30):
            out, err = await process.communicate()
        return process.returncode or 0, out.decode(), err.decode()

    return run


async def test_an_agent_is_seen_on_one_screen(ircd, agent, culturectl, eventually):
    async with connected(ircd.port, "spark-ori", "#general") as ori:
        ori.send("PRIVMSG #general :@spark-claude one", "PRIVMSG spark-claude :two")
        await eventually(lambda: agent.states() == ["injected", "queued"])

        status, out, _ = await culturectl("status", "spark-claude")

        assert status == 0
        rows = dict(line.strip().split(": ", 1) for line in out.splitlines()[1:])
        assert out.startswith("spark-claude - claude agent\n")
        assert rows["server"] == f"connected to {ircd}"
        assert rows["channels"] == "#general"
        assert rows["queue"].startswith("1 queued, 1 injected")
        assert " for spark-ori in #general, " in rows["turn"]
        assert rows["waits for"] == "nobody"
        assert rows["session"] == "by-hand, running"
        assert rows["last error"] == "none"

        await agent.runner.ends_turn("the model is overloaded", status=400)
        status, out, _ = await culturectl("status", "spark-claude", "--json")
        screen = json.loads(out)
        assert (screen["last_error"], screen["context"]) == ("the model is overloaded", 0.12)
        assert screen["today"]["cost_usd"] == 0.01


async def test_agents_are_listed_in_a_line_each(ircd, agent, home, culturectl, eventually):
    (home / "agents.yaml").write_text("agents: [{nick: spark-claude}, {nick: spark-other, agent: codex}]\n")
    async with connected(ircd.port, "spark-ori", "#general") as ori:
        ori.send("PRIVMSG #general :@spark-claude one", "PRIVMSG spark-claude :two")
        await eventually(lambda: agent.states() == ["injected", "queued"])
        status, out, _ = await culturectl("list-agents")

    head, first, second = out.splitlines()
    assert (status, head.split()) == (0, ["NICK", "BACKEND", "STATE", "SINCE", "WAITING", "TODAY", "STATUS"])
    assert re.match(r"spark-claude +claude +working +\d+ s +1 +0\.00 USD ", first)
    assert " for spark-ori in #general; 1 waiting" in first
    assert second.split()[:6] == ["spark-other", "codex", "dead", "-", "-", "-"]
    assert second.endswith("no process answers")


async def test_an_agent_whose_backend_died_is_not_called_idle(ircd, make_agent, eventually):
    other = make_agent("spark-other", limits=TurnsConfig(restart_delay_s=3600))
    async with other.running():
        await eventually(other.is_present)
        assert other.daemon.operations.status().startswith("idle in #general")

        await other.runner.dies()

        assert (
            other.statuses[-1]
            == other.daemon.operations.status()
            == "not working: claude ended with status -9"
        )
        async with connected(ircd.port, "spark-ori", "#general") as ori:
            ori.send("PRIVMSG #general :@spark-other status?")
            assert "not working: claude ended with status -9" in await ori.until("NOTICE #general")


async def test_an_agent_on_a_full_disk_says_so(make_agent, small_disk, eventually):
    other = make_agent("spark-other", state=small_disk)
    async with other.running():
        await eventually(other.is_present)
        with contextlib.suppress(OSError), (small_disk / "rest").open("wb", buffering=0) as rest:
            while True:
                rest.write(bytes(4096))

        assert other.daemon.operations.status() == f"the disk is full: 0 bytes free in '{small_disk}'"
        (small_disk / "rest").unlink()


async def test_pausing_is_announced_like_resuming(ircd, agent, culturectl):
    async with connected(ircd.port, "spark-ori", "#general") as ori:
        await culturectl("pause", "spark-claude", "for the night")
        told = await ori.until("NOTICE #general :paused")
        assert told.endswith(":paused: for the night; hint: culturectl resume spark-claude")
        # Once is enough.
        await culturectl("pause", "spark-claude", "for the night")
        await culturectl("resume", "spark-claude")
        assert (await ori.until("NOTICE #general")).endswith(":resumed")


async def test_an_agent_that_runs_is_not_said_to_have_failed(ircd, agent, home, culturectl):
    (home / "agents.yaml").write_text(f"server: {{port: {ircd.port}}}\nagents: [{{nick: spark-claude}}]\n")
    async with connected(ircd.port, "spark-ori", "#general") as ori:
        seen = len(ori.seen)
        status, out, err = await culturectl("failed", "spark-claude", "--config", str(home / "agents.yaml"))
        ori.send("PING over")
        # Had somebody come and said it, that would stand before the answer.
        assert "PONG" in await ori.until(" ")
        assert len(ori.seen) == seen + 1

    assert (status, out, err) == (0, "", "spark-claude is running; nothing to announce\n")


async def test_the_queue_says_what_became_of_everything(ircd, agent, culturectl, eventually):
    assert await culturectl("queue", "spark-claude") == (0, "", "spark-claude has no messages yet\n")
    async with connected(ircd.port, "spark-ori", "#general") as ori:
        ori.send("PRIVMSG #general :@spark-claude \x1b[2Jone", "PRIVMSG spark-claude :two")
        await eventually(lambda: agent.states() == ["injected", "queued"])

        status, out, _ = await culturectl("queue", "spark-claude")
        _, rows, _ = await culturectl("queue", "spark-claude", "--json")

    head, first, second = out.splitlines()
    assert (status, head.split()) == (0, ["ID", "STATE", "SAID", "FROM", "WHERE", "TURN", "TEXT"])
    assert first.split()[:2] == ["1", "injected"]
    assert first.endswith("@spark-claude  [2Jone")
    assert second.split()[:2] == ["2", "queued"]
    assert second.split()[-3:] == ["private", "-", "two"]
    assert [json.loads(row)["state"] for row in rows.splitlines()] == ["injected", "queued"]


async def test_the_queue_of_an_agent_that_does_not_run_is_that_of_its_file(culturectl, home):
    left = AgentFile(home / "state" / "agents" / "spark-other")
    with left.at_once():
        left.queue.add(QueuedMessage("m1", "mention", "spark-ori", "#general", "one", 1000), 1000)
    left.close()

    status, out, err = await culturectl("queue", "spark-other")

    assert status == 0
    assert out.splitlines()[1].split() == [
        "1",
        "queued",
        "1970-01-01",
        "00:00:01",
        "spark-ori",
        "#general",
        "-",
        "one",
    ]
    assert "no agent answers" in err
    assert "; reading '" in err


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
async def test_another_user_is_told_whose_the_file_is(culturectl, home):
    left = home / "state" / "agents" / "spark-other"
    AgentFile(left).close()
    home.chmod(0o755)
    left.chmod(0o700)

    status, out, err = await culturectl("queue", "spark-other", command=as_nobody(_PROGRAM))

    assert (status, out) == (77, "")
    assert "cannot be read\nhint: run it as root or as the agent's user" in err


async def test_a_paused_agent_begins_no_turn_until_it_is_resumed(ircd, agent, culturectl, eventually):
    assert await culturectl("pause", "spark-claude", "the disk is full") == (0, "", "")
    async with connected(ircd.port, "spark-ori", "#general") as ori:
        ori.send("PRIVMSG #general :@spark-claude one")
        await eventually(lambda: agent.states() == ["queued"])
        assert (
            "status: paused: the disk is full; 1 waiting" in (await culturectl("status", "spark-claude"))[1]
        )

        assert await culturectl("resume", "spark-claude") == (0, "", "")
        await eventually(lambda: agent.prompts)

    assert await culturectl("resume", "spark-claude") == (0, "", "spark-claude was not paused\n")


async def test_somebody_asks_in_the_channel_and_no_turn_is_spent(ircd, agent):
    async with connected(ircd.port, "spark-ori", "#general") as ori:
        ori.send("PRIVMSG #general :@spark-claude status?")
        told = await ori.until("NOTICE #general")

    assert "idle in #general" in told
    assert agent.prompts == []


async def test_an_agent_that_does_not_run_is_not_active(culturectl):
    status, out, err = await culturectl("status", "spark-other")
    assert (status, out) == (3, "")
    assert "no agent answers" in err

    status, _, err = await culturectl("queue", "spark-other")
    assert status == 69
    assert "hint: " in err
