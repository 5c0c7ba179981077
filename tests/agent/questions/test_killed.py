"""The daemon is killed, or its server restarted, at every stage of a question: one answer counts."""

import re
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest
from support.accounts import PASSWORD, accounts_in
from support.irc import Plain, connected
from support.program import Program

from culture.store.agent.file import AgentFile
from culture.store.agent.questions import QuestionState

pytestmark = pytest.mark.slow

TESTS = Path(__file__).resolve().parents[2]
DEADLINE_S = 30.0


class Scene:
    """An agent that asks a person, is killed and started again."""

    def __init__(self, home: Path, port: int, ori: Plain) -> None:
        self._home, self._port, self.ori = home, port, ori
        self.start()

    def start(self, hold: str = "") -> None:
        """Start the agent; with `hold` it stops for good right before it records that state of a question."""
        config = self._home / "agents.yaml"
        config.write_text(
            f"server: {{name: spark, port: {self._port}}}\nturns: {{restart_delay_s: 0}}\n"
            "agents: [{nick: spark-claude, permission_mode: deny}]\n"
        )
        env = {"PYTHONPATH": str(TESTS), "HOLD_BEFORE": hold}
        words = ("spark-claude", "--config", str(config))
        self.program = Program("support.asking", *words, home=self._home, env=env)

    async def restart(self, hold: str = "") -> None:
        self.program.process.kill()
        await self.program.ends()
        self.start(hold)

    @property
    def database(self) -> Path:
        return self._home / "state" / "agents" / "spark-claude"

    def states(self) -> list[str]:
        with closing(sqlite3.connect(self.database / "agent.db", timeout=10)) as connection:
            return [state for (state,) in connection.execute("SELECT state FROM question ORDER BY number")]

    def spoken(self) -> list[str]:
        """What the agent said when it had its answer."""
        lines = [line for line in self.ori.seen if " PRIVMSG #general :got " in line]
        return [line.partition(" PRIVMSG #general :")[2] for line in lines]

    def questions(self) -> int:
        return sum("[QUESTION]" in line for line in self.ori.seen)


@pytest.fixture
async def scene(home, ircd) -> AsyncIterator[Scene]:
    accounts_in(home / "state", "ori")
    async with connected(ircd.port, "spark-ori", "#general", account="ori", password=PASSWORD) as ori:
        scene = Scene(home, ircd.port, ori)
        try:
            await scene.program.says("session started")
            yield scene
        finally:
            scene.program.process.kill()
            await scene.program.ends()


async def ends_well(scene: Scene, eventually) -> None:
    """One answer, one question in the channel, one row for each step in the audit log."""
    await eventually(lambda: scene.states() == ["delivered"], DEADLINE_S)
    if not scene.spoken():
        # Otherwise one turn may get both messages, and the agent of this test answers one in each.
        await scene.ori.until(":got yes")
    scene.ori.send("PRIVMSG #general :@spark-claude say end")
    await scene.ori.until(":got end")
    assert scene.spoken() == ["got yes", "got end"]
    scene.program.process.kill()
    await scene.program.ends()
    file = AgentFile(scene.database)
    try:
        [question] = file.questions.last(10)
        events = [row.event for row in file.audit.rows() if row.question == question.id]
        assert file.audit.problems() == []
    finally:
        file.close()
    assert question.state is QuestionState.DELIVERED
    assert (question.choice, question.answered_by, question.authority) == ("yes", "spark-ori", "person")
    assert events.count("answered") == 1
    assert events.count("delivered") == 1


@pytest.mark.parametrize("stage", ["posted", "answered", "delivered"])
async def test_killed_before_a_state_is_recorded(scene, eventually, stage):
    """Asked and perhaps posted; posted and perhaps answered; answered and perhaps delivered."""
    await scene.restart(hold=stage)
    await scene.program.says("session started")
    scene.ori.send("PRIVMSG #general :@spark-claude ask")
    await scene.ori.until("Reply with:")
    if stage != "posted":
        scene.ori.send("PRIVMSG #general :@spark-claude yes")
    await scene.program.says(f"held before {stage}")

    await scene.restart()
    if stage == "posted":
        # It is known from the server's history that the question was posted.
        await eventually(lambda: scene.states() == ["posted"], DEADLINE_S)
        scene.ori.send("PRIVMSG #general :@spark-claude yes")

    await ends_well(scene, eventually)
    assert scene.questions() == 1


async def test_killed_while_it_waits(scene, eventually):
    scene.ori.send("PRIVMSG #general :@spark-claude ask")
    await scene.ori.until("Reply with:")
    await eventually(lambda: scene.states() == ["posted"], DEADLINE_S)

    await scene.restart()
    await scene.program.says("session started")
    scene.ori.send("PRIVMSG #general :@spark-claude yes")

    await ends_well(scene, eventually)
    assert scene.questions() == 1


async def test_answered_while_it_is_dead(scene, eventually):
    scene.ori.send("PRIVMSG #general :@spark-claude ask")
    await scene.ori.until("Reply with:")
    await eventually(lambda: scene.states() == ["posted"], DEADLINE_S)
    scene.program.process.kill()
    await scene.program.ends()
    await scene.ori.until("QUIT")
    scene.ori.send("PRIVMSG #general :@spark-claude yes", "PING x")
    await scene.ori.until("PONG")

    scene.start()

    # The server does not say who is a person where no agent listens, so the answer has to be repeated.
    assert "say it again if I was away" in await scene.ori.until("NOTICE #general")
    scene.ori.send("PRIVMSG #general :@spark-claude yes")
    await ends_well(scene, eventually)


async def test_killed_after_the_answer_was_delivered(scene, eventually):
    """The turn is repeated, and asks the same: it gets the same answer, and nobody is asked again."""
    scene.ori.send("PRIVMSG #general :@spark-claude ask and hold")
    await scene.ori.until("Reply with:")
    scene.ori.send("PRIVMSG #general :@spark-claude yes")
    await eventually(lambda: scene.states() == ["delivered"], DEADLINE_S)

    await scene.restart()

    await scene.ori.until(":got yes")
    await ends_well(scene, eventually)
    assert scene.questions() == 1


async def test_the_server_is_restarted_while_a_question_waits(home, eventually):
    config = home / "ircd.yaml"
    config.write_text("name: spark\nlisten: ['127.0.0.1:0']\n")
    accounts_in(home / "state", "ori")
    server = Program("culture.daemons.ircd", "--config", str(config), home=home)
    port = int((await server.says(r"listening on 127\.0\.0\.1:(\d+)"))[1])
    config.write_text(f"name: spark\nlisten: ['127.0.0.1:{port}']\n")
    try:
        async with connected(port, "spark-ori", "#general", account="ori", password=PASSWORD) as ori:
            scene = Scene(home, port, ori)
            await scene.program.says("session started")
            ori.send("PRIVMSG #general :@spark-claude ask")
            await ori.until("Reply with:")
            await eventually(lambda: scene.states() == ["posted"], DEADLINE_S)
            server.process.kill()
            await server.ends()
        server = Program("culture.daemons.ircd", "--config", str(config), home=home)
        await server.says("listening on")
        deadline = time.monotonic() + DEADLINE_S
        while len(re.findall("connected to spark", scene.program.said())) < 2:
            assert time.monotonic() < deadline
            await scene.program.says("connection|connected")
        async with connected(port, "spark-ori", "#general", account="ori", password=PASSWORD) as ori:
            scene.ori = ori
            ori.send("PRIVMSG #general :@spark-claude yes")
            await ori.until(":got yes")
            await ends_well(scene, eventually)
    finally:
        server.stop()
