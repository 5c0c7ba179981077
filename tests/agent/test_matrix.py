"""Whatever is hit, at whichever stage of a turn: each question is answered once, and nothing is left over.

The real Claude Code runs on the rehearsal model. One agent goes through all stages, so that each question is
also the one that is answered after the last hit.
"""

import contextlib
import os
import signal
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from support.cable import Cable, cable
from support.irc import Plain, connected
from support.program import Program
from support.watched import processes

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PATIENCE_S = 90.0
HOLD = "{delay_s: 2}"
ASK = "{run: [irc, ask, spark-ori, --timeout, '2', 'may I?']}"
SEND = "{run: [irc, send, '#general', '{question} done']}"


def script(*first: str, then: str = SEND) -> str:
    """Before it answers, the model does this; whatever comes of a tool, it goes on."""
    return f"""rules:
  - {{after_tool: any, after_command: '^irc send', answer: [{{text: Answered.}}]}}
  - {{after_tool: any, prompt: '@spark-claude (?P<question>\\S+)', answer: [{SEND}]}}
  - {{prompt: 'busy', answer: [{", ".join([*first, "{text: Well.}"])}]}}
  - {{prompt: '@spark-claude (?P<question>\\S+)', answer: [{", ".join([*first, then])}]}}
"""


AT_ONCE = script()


class Scene:
    """A server, an agent, the cable between them, and a person who asks."""

    def __init__(self, home: Path, model, eventually) -> None:
        self._home, self.model, self._eventually = home, model, eventually
        self._mark = f"MATRIX={home}"
        self.wire: Cable
        self.ori: Plain
        self._people = contextlib.AsyncExitStack()
        self._port = 0

    async def eventually(self, condition: Callable[[], object]) -> None:
        await self._eventually(condition, PATIENCE_S)

    async def server_starts(self) -> int:
        config = self._home / "ircd.yaml"
        config.write_text(f"name: spark\nlisten: ['127.0.0.1:{self._port}']\n")
        self.server = Program("culture.daemons.ircd", "--config", str(config), home=self._home)
        self._port = int((await self.server.says(r"listening on 127\.0\.0\.1:(\d+)"))[1])
        await self._people.aclose()
        self.ori = await self._people.enter_async_context(connected(self._port, "spark-ori", "#general"))
        return self._port

    def agent_starts(self) -> None:
        config = self._home / "agents.yaml"
        config.write_text(
            f"server: {{name: spark, port: {self.wire.port}}}\n"
            # A pause, so that a cut is noticed before the backend is there again.
            "turns: {restart_delay_s: 1, crash_window_s: 0}\n"
            "agents: [{nick: spark-claude, permission_mode: deny}]\n"
        )
        env = {**self.model.env, "MATRIX": str(self._home)}
        options = "spark-claude", "--config", str(config)
        self.agent = Program("culture.daemons.agent", *options, home=self._home, env=env)

    async def ends(self) -> None:
        # Is shown if the test failed.
        print(self.agent.said(), *self.ori.seen, sep="\n")
        await self._people.aclose()
        for program in (self.agent, self.server):
            program.stop()
        await self.eventually(lambda: not self.processes())

    def processes(self) -> dict[int, str]:
        """Of the agent."""
        return processes(self._mark)

    def cli(self) -> int:
        [pid] = (pid for pid, line in self.processes().items() if line.split()[0].endswith("/claude"))
        return pid

    def states(self) -> dict[str, str]:
        with contextlib.closing(sqlite3.connect(next(self._home.rglob("agent.db")))) as file:
            return dict(file.execute("SELECT text, state FROM queue"))

    def has_in_its_session(self, text: str) -> bool:
        return any(text in file.read_text() for file in self._home.glob(".claude/projects/*/*.jsonl"))

    async def asks(self, question: str, *first: str, then: str = SEND) -> None:
        """Until the model has read it, and does what comes first."""
        self.model.play(script(*first, then=then))
        self.ori.send(f"PRIVMSG #general :@spark-claude {question}")
        await self.eventually(lambda: any(question in prompt for prompt in self.model.prompts()))

    async def is_answered(self, question: str) -> None:
        await self.eventually(lambda: self.states()[f"@spark-claude {question}"] == "answered")

    async def told(self) -> list[str]:
        """What the channel has of the agent, also for those who were not there."""
        async with connected(self._port, "spark-bo", "#general") as bo:
            bo.send("HISTORY RECENT #general 100")
            await bo.until("HISTORYEND")
        lines = (line for line in bo.seen if " HISTORY #general spark-claude " in line)
        return [text for line in lines if (text := line.rpartition(" :")[2]).endswith(" done")]


# At which stage: each ends when the question is there.


async def queued(scene: Scene, question: str) -> None:
    scene.model.play(script(HOLD))
    scene.ori.send("PRIVMSG spark-claude :busy")
    await scene.eventually(lambda: any("busy" in prompt for prompt in scene.model.prompts()))
    scene.ori.send(f"PRIVMSG #general :@spark-claude {question}")
    await scene.eventually(lambda: f"@spark-claude {question}" in scene.states())


async def injected(scene: Scene, question: str) -> None:
    await scene.asks(question, HOLD)


async def streaming(scene: Scene, question: str) -> None:
    await scene.asks(question, "{text: Let me see.}", HOLD)
    await scene.eventually(lambda: scene.has_in_its_session("Let me see."))


async def in_a_tool(scene: Scene, question: str) -> None:
    await scene.asks(question, then=ASK)
    await scene.ori.until("may I?")


async def answering(scene: Scene, question: str) -> None:
    """The words are on their way, and the server does not have them."""
    await scene.asks(question, HOLD)
    scene.wire.carries_up = False
    await scene.eventually(lambda: f"{question} done".encode() in scene.wire.swallowed)


async def answered(scene: Scene, question: str) -> None:
    """The server has the words, and the agent does not know."""
    await scene.asks(question, HOLD)
    scene.wire.carries_down = False
    await scene.ori.until(f"{question} done")


STAGES = (queued, injected, streaming, in_a_tool, answering, answered)


# What is hit.


async def cli(scene: Scene, question: str) -> None:
    before = scene.processes().keys() - {scene.agent.process.pid}
    os.kill(scene.cli(), signal.SIGKILL)
    await scene.eventually(lambda: not before & scene.processes().keys())


async def daemon(scene: Scene, question: str) -> None:
    scene.agent.process.kill()
    await scene.agent.ends()
    await scene.eventually(lambda: not scene.processes())
    scene.agent_starts()


async def ircd(scene: Scene, question: str) -> None:
    scene.server.process.kill()
    await scene.server.ends()
    await scene.server_starts()


async def cut(scene: Scene, question: str) -> None:
    scene.wire.cut()


async def silence(scene: Scene, question: str) -> None:
    """Nothing is heard of a server that seems to be there; then it turns out that it is not."""
    scene.wire.carries_up = scene.wire.carries_down = False
    heard = len(scene.agent.said())

    def is_noticed() -> bool:
        # On a slow machine it may have been said before.
        is_answered = scene.states().get(f"@spark-claude {question}") == "answered"
        is_said = is_answered or f"{question} done".encode() in scene.wire.swallowed
        # Where a question went unacknowledged, the agent waits for another connection before it says more.
        return is_said or "no answer from" in scene.agent.said()[heard:]

    await scene.eventually(is_noticed)


HITS: dict[str, Callable[[Scene, str], Awaitable[None]]] = {
    hit.__name__: hit for hit in (cli, daemon, ircd, cut, silence)
}


@pytest.fixture
async def scene(home, model, eventually) -> AsyncIterator[Scene]:
    scene = Scene(home, model, eventually)
    async with cable(await scene.server_starts()) as scene.wire:
        scene.agent_starts()
        try:
            await scene.agent.says("session started")
            yield scene
        finally:
            await scene.ends()


@pytest.mark.parametrize("hit", HITS)
async def test_every_question_is_answered_once(scene, hit):
    asked = []
    for stage in STAGES:
        if hit == "daemon" and stage is in_a_tool:
            # A question of the agent survives its daemon, and the message waits for the answer:
            # questions/test_killed.py has every stage of that.
            continue
        question = f"{hit}-{stage.__name__}"
        await stage(scene, question)

        scene.model.play(AT_ONCE)
        await HITS[hit](scene, question)
        if not scene.wire.carries:
            scene.wire.cut()

        await scene.is_answered(question)
        asked.append(f"{question} done")
        assert await scene.told() == asked
    await scene.asks("last")
    await scene.ori.until("last done")
