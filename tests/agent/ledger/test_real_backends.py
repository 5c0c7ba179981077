"""The real program on the rehearsal model, whose turns count as if they cost money."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.backends import ROWS, installed
from support.irc import connected
from support.program import Program

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

SCRIPT = """rules:
  - name: costly
    prompt: benchmark
    usage: {input_tokens: 150000, cached_tokens: 0, output_tokens: 8000}
    answer: [{text: Done.}]
"""
PRICE = {"input": 1, "output": 10}


def cost_by_model(home: Path) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "culture.ctl.main", "cost", "--by", "model", "--json"],
        env={"PATH": os.environ["PATH"], "CULTURE_HOME": str(home)},
        capture_output=True, text=True, timeout=30, check=True,
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("name", ["claude", "codex"])
async def test_a_budget_is_rehearsed(name: str, ircd, model, home: Path):
    row = ROWS[name]
    agent = {"nick": "spark-agent", "agent": row.agent, "model": row.model, "permission_mode": "deny"}
    config = {
        "server": {"name": "spark", "port": ircd.port},
        "supervisor": {"enabled": False},
        "budgets": {"agent_usd_per_day": 20, "turn_usd": 20, "rehearse": True},
        "prices": {row.model: PRICE} if row.model else {},
        "agents": [agent],
    }
    (home / "agents.yaml").write_text(json.dumps(config))
    model.play(SCRIPT)
    path = os.pathsep.join([installed(), os.environ["PATH"]])
    env = {**model.env, **row.env(model.env["ANTHROPIC_BASE_URL"], home), "PATH": path}
    options = ("spark-agent", "--config", str(home / "agents.yaml"))
    program = Program("culture.daemons.agent", *options, home=home, env=env)
    try:
        await program.says(f"{row.agent} session started")
        async with connected(ircd.port, "spark-ori", "#general") as ori:
            ori.send("PRIVMSG #general :@spark-agent benchmark nemotron")
            await ori.until(":Done.")
            await program.says("turn .* answered after .* USD")
            # The rest does not cover what a turn reserves, and no model is asked.
            ori.send("PRIVMSG #general :@spark-agent benchmark again")
            await ori.until("waiting for budget")
        asked = [each for each in model.server.asked if not each.is_aside]
    finally:
        program.stop()
    [spent] = cost_by_model(home)
    assert len(asked) == 1
    assert (spent["turns"], spent["input_tokens"], spent["output_tokens"]) == (1, 150_000, 8_000)
    # Claude Code knows the prices of its models itself.
    assert spent["cost"] == 0.23 if name == "codex" else spent["cost"] > 0
