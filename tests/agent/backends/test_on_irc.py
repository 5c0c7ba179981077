"""Each backend as people run it: culture-ircd, culture-agent and the real program, a person on a socket."""

import json
import os

import pytest
from support.backends import ROWS, Row, installed
from support.irc import connected
from support.program import Program

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
async def test_a_person_mentions_the_agent_and_reads_its_answer(row, ircd, model, home, mark):
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
    finally:
        agent.stop()
