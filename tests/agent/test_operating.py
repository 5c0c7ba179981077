"""culturectl with a running agent: what it does, what was said to it, and whether it may go on."""

import asyncio
import json
import os
import sys
from collections.abc import Sequence

import pytest
from support.irc import connected
from support.nobody import as_nobody

from culture.store.agent.file import AgentFile
from culture.store.agent.queue import Question

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


async def test_the_queue_says_what_became_of_everything(ircd, agent, culturectl, eventually):
    assert await culturectl("queue", "spark-claude") == (0, "", "nothing was said to spark-claude yet\n")
    async with connected(ircd.port, "spark-ori", "#general") as ori:
        ori.send("PRIVMSG #general :@spark-claude \x1b[2Jone", "PRIVMSG spark-claude :two")
        await eventually(lambda: agent.states() == ["injected", "queued"])

        status, out, _ = await culturectl("queue", "spark-claude")
        _, rows, _ = await culturectl("queue", "spark-claude", "--json")

    head, first, second = out.splitlines()
    assert (status, head.split()) == (0, ["STATE", "SAID", "FROM", "WHERE", "TURN", "TEXT"])
    assert first.split()[0] == "injected"
    assert first.endswith("@spark-claude  [2Jone")
    assert second.split()[0] == "queued"
    assert second.split()[-3:] == ["private", "-", "two"]
    assert [json.loads(row)["state"] for row in rows.splitlines()] == ["injected", "queued"]


async def test_the_queue_of_an_agent_that_does_not_run_is_that_of_its_file(culturectl, home):
    left = AgentFile(home / "state" / "agents" / "spark-other")
    with left.at_once():
        left.queue.add(Question("m1", "mention", "spark-ori", "#general", "one", 1000), 1000)
    left.close()

    status, out, err = await culturectl("queue", "spark-other")

    assert status == 0
    assert out.splitlines()[1].split() == [
        "queued",
        "1970-01-01",
        "00:00:01",
        "spark-ori",
        "#general",
        "-",
        "one",
    ]
    assert "no agent answers" in err
    assert "this is what it left in" in err


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
async def test_another_user_is_told_whose_the_file_is(culturectl, home):
    left = home / "state" / "agents" / "spark-other"
    AgentFile(left).close()
    home.chmod(0o755)
    left.chmod(0o700)

    status, out, err = await culturectl("queue", "spark-other", command=as_nobody(_PROGRAM))

    assert (status, out) == (77, "")
    assert "is not yours\nhint: be the agent's user or root: sudo" in err


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
