"""culture-agent with the real Claude Code: a command waits for a person through kill -9, and runs once."""

import pytest
from support.accounts import PASSWORD, accounts_in
from support.irc import connected
from support.program import Program

pytestmark = pytest.mark.slow

SCRIPT = """
rules:
  - after_tool: any
    answer: [{text: it is done}]
  - answer:
      - tool: {name: Bash, input: {command: "echo ran >> log", description: "write to the log"}}
"""


@pytest.mark.timeout(120)
async def test_a_command_waits_for_a_person_through_a_kill_and_runs_once(ircd, model, home, eventually):
    model.play(SCRIPT)
    accounts_in(home / "state", "ori")
    config = home / "agents.yaml"
    (home / "work").mkdir()
    config.write_text(
        f"server: {{name: spark, port: {ircd.port}}}\n"
        f"agents: [{{nick: spark-claude, permission_mode: ask, directory: {home / 'work'}}}]\n"
    )
    words = ("spark-claude", "--config", str(config))
    agent = Program("culture.daemons.agent", *words, home=home, env=model.env)
    try:
        await agent.says("claude session started")
        async with connected(ircd.port, "spark-ori", "#general", account="ori", password=PASSWORD) as ori:
            ori.send("PRIVMSG #general :@spark-claude write to the log")
            await ori.until("May I run this command? echo ran >> log [y/N]")
            await ori.until("Reply with:")
            await agent.says("turn .* silent after")
            agent.process.kill()
            await agent.ends()
            agent = Program("culture.daemons.agent", *words, home=home, env=model.env)
            await agent.says("claude session started")
            assert not (home / "work" / "log").exists()

            ori.send("PRIVMSG #general :@spark-claude yes")
            await eventually(lambda: (home / "work" / "log").exists(), 40)
            await ori.until(":it is done")
    finally:
        agent.stop()
    assert (home / "work" / "log").read_text() == "ran\n"
