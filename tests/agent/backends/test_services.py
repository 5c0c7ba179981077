"""Every backend as people run it: culture-ircd, culture-agent and the real program, a person on a socket."""

import os
from pathlib import Path

import pytest
from support.backends import ROWS, Row, installed, processes
from support.irc import connected
from support.program import Program

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

INSTALLED = {name: row for name, row in ROWS.items() if row.is_installed}


def configure(home: Path, port: int, row: Row) -> str:
    path = home / "agents.yaml"
    path.write_text(
        f"server: {{name: spark, port: {port}}}\n"
        "agents:\n"
        "  - nick: spark-agent\n"
        f"    agent: {row.agent}\n"
        f"    model: '{row.model}'\n"
        "    permission_mode: deny\n" + "".join(f"    acp_command: [{word}]\n" for word in row.command)
    )
    return str(path)


@pytest.mark.parametrize("row", INSTALLED.values(), ids=INSTALLED)
async def test_a_person_mentions_the_agent_and_reads_its_answer(ircd, model, home, mark, row):
    url, (name, _, value) = model.env["ANTHROPIC_BASE_URL"], mark.partition("=")
    path = os.pathsep.join([installed(), os.environ["PATH"]])
    env = {**model.env, **row.env(url, home), "HOME": str(home), "PATH": path, name: value}
    config = configure(home, ircd.port, row)
    agent = Program("culture.daemons.agent", "spark-agent", "--config", config, home=home, env=env)
    try:
        await agent.says(f"{row.agent} session started")
        async with connected(ircd.port, "spark-ori", "#general") as ori:
            ori.send("PRIVMSG #general :@spark-agent hello")

            assert "PRIVMSG #general :spark-ori: hello!" in await ori.until(":spark-agent!")

        await agent.says("turn .* answered after")
    finally:
        agent.stop()
    assert processes(mark) == {}
