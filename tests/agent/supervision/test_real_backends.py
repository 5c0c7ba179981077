"""The real programs on the rehearsal model: an agent that retries a failing command is paused."""

import getpass
import json
import os

import pytest
from support.backends import ROWS, installed
from support.irc import connected
from support.program import Program

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

FAILING = "[{run: [sh, -c, 'echo no CUDA compiler >&2; exit 2']}]"
SCRIPT = f"""rules:
  - {{name: judge, prompt: '^Your answer:$', answer: [{{text: CORRECTION Retried the same build.}}]}}
  - {{name: again, after_tool: any, answer: {FAILING}}}
  - {{name: begin, prompt: benchmark, answer: {FAILING}}}
  - {{name: other, answer: [{{text: Hello again.}}]}}
"""


# People are told from guests by the user that their connection comes from.
PEOPLE = {"people": f"['unix:{getpass.getuser()}']"}


# Claude Code does not run as root without permissions, so its command fails because it is denied.
@pytest.mark.parametrize(
    ("name", "mode", "judge"),
    # Also across backends.
    [("claude", "deny", "claude"), ("codex", "bypass", "claude"), ("codex", "bypass", "codex")],
)
@pytest.mark.parametrize("ircd", [PEOPLE], indirect=True, ids=["people"])
async def test_a_command_that_keeps_failing_ends_in_an_escalation(
    name: str, mode: str, judge: str, ircd, model, home
):
    row = ROWS[name]
    config = {
        "server": {"name": "spark", "port": ircd.port},
        "supervisor": {"agent": judge, "model": ROWS[judge].model or "claude-sonnet-4-5"},
        "agents": [{"nick": "spark-agent", "agent": row.agent, "model": row.model, "permission_mode": mode}],
    }
    (home / "agents.yaml").write_text(json.dumps(config))
    model.play(SCRIPT)
    path = os.pathsep.join([installed(), os.environ["PATH"]])
    env = {**model.env, **row.env(model.env["ANTHROPIC_BASE_URL"], home), "PATH": path}
    options = ("spark-agent", "--config", str(home / "agents.yaml"))
    agent = Program("culture.daemons.agent", *options, home=home, env=env)
    try:
        await agent.says(f"{row.agent} session started")
        async with connected(ircd.port, "spark-ori", "#general") as ori:
            ori.send("PRIVMSG #general :@spark-agent benchmark nemotron")
            told = await ori.until("NOTICE #general :[ESCALATION]")
            assert 'stuck on task "@spark-agent benchmark nemotron". Retried the same build.' in told
            await agent.says("turn .* after")
            rules = [each.answer.rule for each in model.server.asked if not each.is_aside]
            assert rules.count("judge") == 3
            # Each evaluation came after three failures; this model makes more while it is judged.
            assert rules.count("begin") + rules.count("again") >= 9

            ori.send("PRIVMSG #general :@spark-agent abort")
            await ori.until("resumed")
            ori.send("PRIVMSG #general :@spark-agent hello")
            await ori.until("Hello again.")
    finally:
        agent.stop()
