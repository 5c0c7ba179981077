"""A real server, a scripted model, and agents on them."""

import asyncio
import contextlib
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.program import Program

from culture.agent.contract import AgentRunnerBase, Message
from culture.agent.daemon import AgentDaemon
from culture.config.address import TcpAddress, UnixAddress
from culture.config.agents import AgentConfig
from culture.config.loader import parse
from culture.net.listeners import FOR_THE_OWNER, open_listener
from culture.rehearsal.environment import environment
from culture.rehearsal.script import DEFAULT, Script, load_script
from culture.rehearsal.server import Server


@pytest.fixture
def home() -> Iterator[Path]:
    """A short path: the name of a unix socket has room for 107 bytes."""
    path = Path(tempfile.mkdtemp(prefix="culture-"))
    yield path
    shutil.rmtree(path)


@pytest.fixture
async def ircd(home) -> AsyncIterator[TcpAddress]:
    """culture-ircd as a process, on a port of its own choice."""
    config = home / "ircd.yaml"
    config.write_text("name: spark\nlisten: ['127.0.0.1:0']\n")
    program = Program("culture.daemons.ircd", "--config", str(config), home=home)
    try:
        port = int((await program.says(r"listening on 127\.0\.0\.1:(\d+)"))[1])
        yield TcpAddress("127.0.0.1", port)
    finally:
        program.stop()


@dataclass(frozen=True)
class Model:
    server: Server
    env: dict[str, str]

    def prompts(self) -> list[str]:
        asked = (each.request.conversation for each in self.server.asked if not each.is_aside)
        return [conversation.prompt for conversation in asked]

    def play(self, script: str | Script) -> None:
        self.server.play(parse(script, Script, where="script.yaml") if isinstance(script, str) else script)


@pytest.fixture
async def model() -> AsyncIterator[Model]:
    """The rehearsal model with its default script, and what points a CLI at it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        async with Server(load_script(DEFAULT)) as server:
            await server.listen([listener])
            yield Model(server, environment(f"http://127.0.0.1:{listener.getsockname()[1]}"))


class HandRunner(AgentRunnerBase):
    """A backend whose model is the test itself: prompts pile up here, and results are given by hand."""

    def __init__(self) -> None:
        self.prompts: list[str] = []
        self.is_up = False

    async def start(self, initial_prompt: str = "") -> None:
        self.is_up = True

    async def stop(self) -> None:
        self.is_up = False

    async def send_prompt(self, text: str) -> None:
        self.prompts.append(text)

    def is_running(self) -> bool:
        return self.is_up

    @property
    def session_id(self) -> str | None:
        return "by-hand" if self.is_up else None

    async def ends_turn(self, error: str = "", *, asked: bool = True) -> None:
        result: Message = {
            "type": "result", "failed": bool(error), "error": error, "cost_usd": 0.01, "duration_ms": 5,
            "usage": {}, "asked": asked,
        }  # fmt: skip
        await self.on_message(result)


class Agent:
    """A daemon in this process, with a backend that is run by hand."""

    def __init__(self, address: TcpAddress, home: Path, nick: str = "spark-claude") -> None:
        self.socket = home / f"{nick}.sock"
        self.runner = HandRunner()
        self.statuses: list[str] = []
        self.is_ready = False
        config = AgentConfig(nick=nick, channels=("#general",))
        self.listener = open_listener(UnixAddress(str(self.socket)), unix_mode=FOR_THE_OWNER)
        self.daemon = AgentDaemon(config, address, self.runner, self.listener, on_status=self.statuses.append)

    def _ready(self) -> None:
        self.is_ready = True

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator["asyncio.Task[None]"]:
        task = asyncio.create_task(self.daemon.run(self._ready))
        try:
            yield task
        finally:
            self.daemon.stop()
            await asyncio.gather(task, return_exceptions=True)
            self.listener.close()


@pytest.fixture
async def agent(ircd, home, eventually) -> AsyncIterator[Agent]:
    """An agent that is ready, in #general."""
    agent = Agent(ircd, home)
    async with agent.running():
        await eventually(lambda: agent.is_ready and "#general" in agent.daemon.whoami()["channels"])
        yield agent


@pytest.fixture
def make_agent(ircd, home) -> Callable[..., Agent]:
    return lambda nick, address=ircd: Agent(address, home, nick)
