"""The daemon is killed at every stage of a turn: each question is answered exactly once, none is lost."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.program import Program

pytestmark = pytest.mark.slow

TESTS = Path(__file__).resolve().parents[1]


def start(home: Path, port: int) -> Program:
    config = home / "agents.yaml"
    config.write_text(
        f"server: {{name: spark, port: {port}}}\nturns: {{restart_delay_s: 0}}\n"
        "agents: [{nick: spark-claude, permission_mode: deny}]\n"
    )
    env = {"PYTHONPATH": str(TESTS)}
    return Program("support.scripted", "spark-claude", "--config", str(config), home=home, env=env)


class Scene:
    """An agent that is killed and started again, and what a person sees of it."""

    def __init__(self, home: Path, port: int, ori) -> None:
        self._home, self._port, self.ori = home, port, ori
        self.program = start(home, port)
        self._programs = [self.program]

    def logs(self) -> str:
        """What each of its processes said, for whoever looks at a failure."""
        return "\n---\n".join(program.said() for program in self._programs)

    async def is_ready(self) -> None:
        await self.program.says("session started")

    async def killed(self) -> None:
        self.program.process.kill()
        await self.program.ends()

    def start_again(self) -> None:
        self.program = start(self._home, self._port)
        self._programs.append(self.program)

    async def answers(self, last: str) -> list[str]:
        """All that it said up to an answer to the last question, which is asked now."""
        self.ori.send(f"PRIVMSG #general :@spark-claude {last}")
        await self.ori.until(f"{last}, done")
        said = [line for line in self.ori.seen if line.startswith(":spark-claude!") and "PRIVMSG" in line]
        return [line.rpartition(" :")[2] for line in said]


@pytest.fixture
async def scene(home, ircd, ori):
    scene = Scene(home, ircd.port, ori)
    await scene.is_ready()
    yield scene
    scene.program.stop()


@pytest.mark.parametrize("stage", ["hold", "tool"])
async def test_killed_in_the_middle_of_a_turn(scene, stage):
    scene.ori.send(f"PRIVMSG #general :@spark-claude {stage} one")
    await scene.program.says("turn .* began")
    scene.ori.send("PRIVMSG #general :@spark-claude two", "PRIVMSG #general :@spark-claude three", "PING x")
    await scene.ori.until("PONG")

    await scene.killed()
    scene.start_again()

    await scene.ori.until("three, done")
    said = await scene.answers("last")
    expected = [f"{stage} one", "two", "three", "last"]
    assert said == [f"spark-ori: @spark-claude {text}, done" for text in expected]


@pytest.mark.parametrize("is_answered", [False, True], ids=["as somebody speaks", "as it answers"])
async def test_killed_at_once(scene, is_answered):
    """Before the line is read, or after it is queued, injected, said or noted, as it happens.

    No message sees more than two crashes: after three, the agent gives it up.
    """
    for number in range(6):
        scene.ori.send(f"PRIVMSG #general :@spark-claude number {number}")
        if is_answered:
            await scene.ori.until(f"number {number}, done")
        await scene.killed()
        scene.start_again()
        await scene.is_ready()
        if number % 2 and not is_answered:
            await scene.ori.until(f"number {number}, done")

    said = await scene.answers("last")
    expected = [*(f"number {number}" for number in range(6)), "last"]
    assert said == [f"spark-ori: @spark-claude {text}, done" for text in expected], scene.logs()


async def test_asked_while_it_is_dead(scene):
    await scene.killed()
    await scene.ori.until("QUIT")
    scene.ori.send("PRIVMSG #general :@spark-claude one", "PRIVMSG #general :two", "PING x")
    await scene.ori.until("PONG")
    scene.start_again()

    await scene.ori.until("one, done")
    assert len(await scene.answers("last")) == 2


async def test_terminated_in_the_middle_of_a_turn(scene):
    scene.ori.send("PRIVMSG #general :@spark-claude hold one")
    await scene.program.says("turn .* began")
    scene.program.process.send_signal(signal.SIGTERM)
    assert await scene.program.ends() == 0
    scene.start_again()

    await scene.ori.until("hold one, done")
    assert len(await scene.answers("last")) == 2


async def test_a_backend_that_dies_of_a_question_is_asked_again(scene):
    scene.ori.send("PRIVMSG #general :@spark-claude die one")

    await scene.ori.until("die one, done")
    assert "broke off" in " ".join(scene.ori.seen)
    assert len(await scene.answers("last")) == 2


async def culturectl(home: Path, *words: str) -> tuple[int, str]:
    """Run it as the person whose agent it is."""
    env = {"PATH": os.environ["PATH"], "CULTURE_HOME": str(home), "HOME": str(home)}
    command = [sys.executable, "-m", "culture.ctl.main", *words]
    done = await asyncio.to_thread(
        subprocess.run, command, env=env, capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("is_obeyed", [True, False])
async def test_killed_right_after_it_was_stopped(scene, is_obeyed):
    word = "hold" if is_obeyed else "cling hold"
    scene.ori.send(f"PRIVMSG #general :@spark-claude {word} one")
    await scene.program.says("turn .* began")
    scene.ori.send("PRIVMSG #general :@spark-claude stop", "PING x")
    await scene.ori.until("PONG")

    await scene.killed()
    scene.start_again()

    # Stopped before or after it died: never answered.
    await scene.is_ready()
    assert await scene.answers("last") == ["spark-ori: @spark-claude last, done"]


async def test_aborted_by_culturectl_and_killed(scene, home):
    scene.ori.send("PRIVMSG #general :@spark-claude cling hold one")
    await scene.program.says("turn .* began")

    assert (await culturectl(home, "abort", "spark-claude"))[0] == 0
    await scene.killed()
    status, queue = await culturectl(home, "queue", "spark-claude")
    assert status == 0
    assert "stopped by" in queue
    scene.start_again()

    await scene.is_ready()
    assert await scene.answers("last") == ["spark-ori: @spark-claude last, done"]


async def test_the_shell_of_an_agent_cannot_free_it(scene, home):
    """Neither with its own environment nor with an empty one."""
    for prefix in ("", f"env -i CULTURE_HOME={home} HOME={home} PATH=$PATH "):
        command = f"{prefix}{sys.executable} -m culture.ctl.main pause spark-claude"
        scene.ori.send(f"PRIVMSG #general :@spark-claude shell {command}")
        told = await scene.ori.until("PRIVMSG #general :77: ")
        assert "an agent may not do this to itself; only people may" in told

    status, told = await culturectl(home, "pause", "spark-claude", "for the night")
    assert (status, told) == (0, "")
    await scene.ori.until("NOTICE #general :paused: for the night")
