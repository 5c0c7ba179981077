"""culture-agent is killed between reserving and settling: its reservation is spent, and the budget holds."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from support.irc import Plain
from support.program import Program

pytestmark = pytest.mark.slow

TESTS = Path(__file__).resolve().parents[2]


class Scene:
    """An agent that is killed and started again, with a budget for two turns of 1 USD."""

    def __init__(self, home: Path, port: int) -> None:
        self._home = home
        self._config = home / "agents.yaml"
        self._config.write_text(
            f"server: {{name: spark, port: {port}}}\nturns: {{restart_delay_s: 0}}\n"
            "budgets: {agent_usd_per_day: 2.0005}\nwebhooks: {irc_channel: '#general'}\n"
            "agents: [{nick: spark-claude, permission_mode: deny, supervisor: off}]\n"
        )
        self.program = self.start()

    def start(self) -> Program:
        env = {"PYTHONPATH": str(TESTS)}
        arguments = ("spark-claude", "--config", str(self._config))
        self.program = Program("support.scripted", *arguments, home=self._home, env=env)
        return self.program

    async def killed(self) -> None:
        self.program.process.kill()
        await self.program.ends()

    def cost(self, by: str = "agent") -> list[dict[str, Any]]:
        done = subprocess.run(
            [sys.executable, "-m", "culture.ctl.main", "cost", "--json", "--by", by],
            env={"PATH": os.environ["PATH"], "CULTURE_HOME": str(self._home)},
            capture_output=True, text=True, timeout=30, check=True,
        )  # fmt: skip
        return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
async def scene(home: Path, ircd) -> AsyncIterator[Scene]:
    scene = Scene(home, ircd.port)
    yield scene
    scene.program.stop()


async def test_what_a_killed_process_reserved_counts_as_spent(scene: Scene, ori: Plain):
    await scene.program.says("session started")
    ori.send("PRIVMSG #general :@spark-claude one")
    await ori.until("one, done")
    await scene.program.says("turn .* answered")
    [before] = scene.cost()
    ori.send("PRIVMSG #general :@spark-claude hold")
    await scene.program.says("(?s)turn .* began.*turn .* began")
    [running] = scene.cost()

    await scene.killed()
    scene.start()

    # The budget has room for one more turn of 1 USD less what the first cost: the message waits.
    told = await ori.until("waiting for budget")
    [after] = scene.cost()
    assert "the cost of 1 model session is not known" in scene.program.said()
    assert (before["cost"], before["held"]) == (0.001, 0)
    assert (running["cost"], running["held"]) == (0.001, 1)
    assert (after["cost"], after["held"]) == (1.001, 0)
    assert "1.00 of 2.00 USD of spark-claude are spent today" in told
    assert {row["task"]: row["cost"] for row in scene.cost("task")} == {
        "@spark-claude one": 0.001, "@spark-claude hold": 1
    }  # fmt: skip
