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
from support.irc import Plain, connected
from support.program import Program

from culture.agent.contract import AgentRunnerBase, Message, SupervisorBase
from culture.agent.daemon import PATIENCE_S, AgentDaemon
from culture.agent.gate import Gate
from culture.config.address import Address, TcpAddress, UnixAddress
from culture.config.agents import AgentConfig, TurnsConfig
from culture.config.loader import parse
from culture.errors import CultureError
from culture.net.listeners import FOR_THE_OWNER, open_listener
from culture.rehearsal.environment import environment
from culture.rehearsal.script import DEFAULT, Script, load_script
from culture.rehearsal.server import Server
from culture.store.agent.file import AgentFile


@pytest.fixture
def home() -> Iterator[Path]:
    """A short path: the name of a unix socket has room for 107 bytes."""
    path = Path(tempfile.mkdtemp(prefix="culture-"))
    yield path
    shutil.rmtree(path)


@pytest.fixture
async def ircd(home, request) -> AsyncIterator[TcpAddress]:
    """culture-ircd as a process, on a port of its own choice; a test may say what else is configured."""
    config = home / "ircd.yaml"
    lines = "".join(f"{name}: {value}\n" for name, value in getattr(request, "param", {}).items())
    config.write_text(f"name: spark\nlisten: ['127.0.0.1:0']\n{lines}")
    program = Program("culture.daemons.ircd", "--config", str(config), home=home)
    try:
        port = int((await program.says(r"listening on 127\.0\.0\.1:(\d+)"))[1])
        yield TcpAddress("127.0.0.1", port)
    finally:
        program.stop()


@pytest.fixture
async def ori(ircd) -> AsyncIterator[Plain]:
    """A person in #general."""
    async with connected(ircd.port, "spark-ori", "#general") as ori:
        yield ori


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

    def __init__(self, prompts: list[str], resume: str, start_error: CultureError | None) -> None:
        self.prompts = prompts
        self.resume = resume
        self.start_error = start_error
        self.owed = 0
        self.interrupts = 0
        # Whether an interrupt ends a turn.
        self.obeys = True
        self.is_up = False

    async def start(self, initial_prompt: str = "") -> None:
        if self.start_error is not None:
            raise self.start_error
        self.is_up = True

    async def stop(self) -> None:
        self.is_up = False

    async def send_prompt(self, text: str) -> None:
        self.owed += 1
        self.prompts.append(text)

    async def interrupt(self) -> None:
        self.interrupts += 1
        if self.obeys:
            await self.ends_turn("interrupted")

    async def compact(self) -> None:
        await self.on_message({"type": "context", "did": "compacted", "failed": False, "error": ""})

    async def clear(self) -> None:
        await self.on_message({"type": "context", "did": "cleared", "failed": False, "error": ""})

    def is_running(self) -> bool:
        return self.is_up

    @property
    def session_id(self) -> str | None:
        return (self.resume or "by-hand") if self.is_up else None

    async def ends_turn(self, error: str = "", *, status: int | None = None, asked: bool = True) -> None:
        result: Message = {
            "type": "result", "failed": bool(error), "error": error, "status": status, "cost_usd": 0.01,
            "duration_ms": 5, "usage": {"input_tokens": 90, "cached_tokens": 80, "output_tokens": 4},
            "context": 0.12, "asked": asked,
        }  # fmt: skip
        self.owed -= asked
        await self.on_message(result)

    async def uses_a_tool(self) -> None:
        content = [{"type": "tool_use", "id": "1", "name": "Bash", "input": {}}]
        await self.on_message({"type": "assistant", "model": "by-hand", "content": content})

    async def dies(self, code: int = -9) -> None:
        """As a backend does it: whoever waits for a result gets one, then the end is told."""
        self.is_up = False
        while self.owed:
            await self.ends_turn(f"the claude program was killed by signal {-code}")
        await self.on_exit(code)


class Agent:
    """A daemon in this process, with a backend that is run by hand."""

    def __init__(
        self,
        address: Address,
        home: Path,
        nick: str = "spark-claude",
        *,
        limits: TurnsConfig | None = None,
        gate: Gate | None = None,
        supervisor: SupervisorBase | None = None,
        state: Path | None = None,
        **config: object,
    ) -> None:
        self.socket = home / f"{nick}.sock"
        # Of all its backends, one after the other.
        self.prompts: list[str] = []
        self.runners: list[HandRunner] = []
        self.start_error: CultureError | None = None
        self.statuses: list[str] = []
        self.is_ready = False
        self.patience_s = PATIENCE_S
        self.listener = open_listener(UnixAddress(str(self.socket)), unix_mode=FOR_THE_OWNER)
        self.file = AgentFile(state or home / nick)
        self.daemon = AgentDaemon(
            AgentConfig(**{"nick": nick, "channels": ("#general",), **config}),
            address,
            self._make_runner,
            self.listener,
            self.file,
            home,
            limits=limits or TurnsConfig(restart_delay_s=0),
            gate=gate,
            supervisor=supervisor,
            on_status=self.statuses.append,
        )

    def _make_runner(self, resume: str) -> HandRunner:
        self.runners.append(HandRunner(self.prompts, resume, self.start_error))
        return self.runners[-1]

    @property
    def runner(self) -> HandRunner:
        return self.runners[-1]

    def states(self) -> list[str]:
        """Of everything that was said to it."""
        return [row["state"] for row in self.daemon.queue_rows()]

    @property
    def channels(self) -> list[str]:
        return self.daemon.status_screen()["channels"]

    def is_present(self) -> bool:
        return self.is_ready and "#general" in self.channels

    def kill(self) -> None:
        """Nothing is put in order any more, but for what the loop of this test would stumble over."""
        self._task.cancel()
        asyncio.get_running_loop().remove_reader(self.listener.fileno())

    def _ready(self) -> None:
        self.is_ready = True

    async def _run(self) -> None:
        await self.daemon.run(self._ready, self.statuses.append, patience_s=self.patience_s)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator["asyncio.Task[None]"]:
        task = self._task = asyncio.create_task(self._run())
        try:
            yield task
        finally:
            self.daemon.stop()
            await asyncio.gather(task, return_exceptions=True)
            self.listener.close()
            self.file.close()


@pytest.fixture
async def agent(ircd, home, eventually) -> AsyncIterator[Agent]:
    """An agent that is ready, in #general."""
    agent = Agent(ircd, home)
    async with agent.running():
        await eventually(agent.is_present)
        yield agent


@pytest.fixture
def make_agent(ircd, home) -> Callable[..., Agent]:
    return lambda nick, address=ircd, **options: Agent(address, home, nick, **options)
