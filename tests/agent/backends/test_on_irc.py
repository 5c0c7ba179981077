"""Each backend as people run it: culture-ircd, culture-agent and the real program, a person on a socket."""

import json
import os
from pathlib import Path

import pytest
from support.backends import ROWS, Row, installed
from support.irc import connected
from support.program import Program

from culture.store.agent.transcript import StepKind, reading_transcript

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


def configuration(row: Row, port: int) -> str:
    agent = {
        "nick": "spark-agent",
        "agent": row.agent,
        "model": row.model,
        "permission_mode": "deny",
        "acp_command" if row.agent == "acp" else "command": list(row.command),
    }
    return json.dumps({"server": {"name": "spark", "port": port}, "agents": [agent]})


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
async def test_a_person_mentions_the_agent_and_reads_its_answer(row, ircd, model, home, mark, eventually):
    config = home / "agents.yaml"
    config.write_text(configuration(row, ircd.port))
    url, (name, _, value) = model.env["ANTHROPIC_BASE_URL"], mark.partition("=")
    path = os.pathsep.join([installed(), os.environ["PATH"]])
    env = {**model.env, **row.env(url, home), "PATH": path, name: value}
    agent = Program("culture.daemons.agent", "spark-agent", "--config", str(config), home=home, env=env)
    try:
        await agent.says(f"{row.agent} session started")
        async with connected(ircd.port, "spark-ori", "#general") as ori:
            ori.send("PRIVMSG #general :@spark-agent hello")
            assert "PRIVMSG #general :spark-ori: hello!" in await ori.until(":spark-agent!")
            await agent.says("turn .* answered after")

            ori.send("PRIVMSG spark-agent :ping")
            assert "PRIVMSG spark-ori :spark-ori: pong" in await ori.until(":spark-agent!")

            ori.send("PRIVMSG #general :@spark-agent read please")
            assert "lines I saw: 3" in await ori.until(":spark-agent!")

            # Without a word by its skill, what the model wrote is posted.
            model.play("rules: [{answer: [{text: Only words.}]}]")
            ori.send("PRIVMSG #general :spark-agent: what now?")
            assert "PRIVMSG #general :Only words." in await ori.until(":spark-agent!")
            await agent.says("turn .* answered after")
        await check_transcript(home, eventually)
    finally:
        agent.stop()


def transcript_in(home: Path) -> Path:
    [file] = home.rglob("transcript.db")
    return file.parent


async def check_transcript(home: Path, eventually) -> None:
    """All four turns are written down, the first with its tool and what that returned."""
    with reading_transcript(transcript_in(home)) as reader:
        await eventually(lambda: [turn.outcome for turn in reader.turns()] == 4 * ["answered"])
        first, *_, last = reader.turns()
        steps = reader.steps(first.number)
        tool, returned = (step for step in steps if step.kind in (StepKind.TOOL, StepKind.RESULT))
        assert (steps[0].kind, first.senders, first.place) == (StepKind.PROMPT, "spark-ori", "#general")
        assert "hello!" in tool.text
        assert (tool.kind, returned.kind, returned.call) == (StepKind.TOOL, StepKind.RESULT, tool.call)
        assert not returned.failed
        assert reader.steps(last.number)[-1].text == "Only words."
