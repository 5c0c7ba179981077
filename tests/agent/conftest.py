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

from culture.agent.contract import (
    AgentRunnerBase,
    Assistant,
    ContextChanged,
    Effort,
    Result,
    SideAnswer,
    SupervisorBase,
    Text,
    ToolResult,
    ToolUse,
    Usage,
)
from culture.agent.daemon import CONNECT_TIMEOUT_S, AgentDaemon
from culture.agent.identity import NO_PASSWORDS, Passwords
from culture.agent.ledger.cost_control import CostSettings
from culture.agent.reporting.journal_events import JournalEvents
from culture.agent.reporting.webhooks import Webhooks
from culture.agent.turns.gate import Gate
from culture.config.address import Address, TcpAddress, UnixAddress
from culture.config.agent.trust import TrustConfig
from culture.config.agent.webhooks import WebhooksConfig
from culture.config.agents import AgentConfig, TurnsConfig
from culture.config.loader import parse
from culture.errors import CultureError
from culture.net.listen.listeners import FOR_THE_OWNER, open_listener
from culture.rehearsal.environment import environment
from culture.rehearsal.script import DEFAULT, Script, load_script
from culture.rehearsal.server import RehearsalServer
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
    server: RehearsalServer
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
        async with RehearsalServer(load_script(DEFAULT)) as server:
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
        # Of each prompt.
        self.efforts: list[Effort | None] = []
        # Whether an interrupt ends a turn.
        self.obeys = True
        # What it was asked beside its turns, and what it says to that; without an answer it cannot.
        self.asides: list[str] = []
        self.side_answers: list[str] = []
        # The tool calls that wait for an answer, and the answers that came.
        self.deferred: list[str] = []
        self.continued: list[tuple[str, bool, str]] = []
        self.is_up = False

    async def start(self, initial_prompt: str = "") -> None:
        if self.start_error is not None:
            raise self.start_error
        self.is_up = True

    async def stop(self) -> None:
        self.is_up = False

    async def send_prompt(self, text: str, *, effort: Effort | None = None) -> None:
        self.owed += 1
        self.efforts.append(effort)
        self.prompts.append(text)

    async def interrupt(self) -> None:
        self.interrupts += 1
        if self.obeys:
            await self.ends_turn("interrupted")

    async def ask_aside(self, prompt: str, *, background: str = "") -> SideAnswer:
        if not self.side_answers:
            return await super().ask_aside(prompt)
        self.asides.append(prompt)
        return SideAnswer(self.side_answers.pop(0), Usage(30, 20, 10), 0.002)

    async def answer_deferred(self, call_id: str, *, allowed: bool, reason: str = "") -> None:
        if call_id not in self.deferred:
            await super().answer_deferred(call_id, allowed=allowed, reason=reason)
        self.deferred.remove(call_id)
        self.owed += 1
        self.continued.append((call_id, allowed, reason))

    async def defers(self, id: str, **input: object) -> None:
        """End the turn with a tool call that waits for an answer."""
        self.owed -= 1
        self.deferred.append(id)
        await self.on_message(Result(deferred=ToolUse(id, "Bash", input)))

    async def compact(self) -> None:
        await self.on_message(ContextChanged("compacted"))

    async def clear(self) -> None:
        await self.on_message(ContextChanged("cleared"))

    def is_running(self) -> bool:
        return self.is_up

    @property
    def session_id(self) -> str | None:
        return (self.resume or "by-hand") if self.is_up else None

    async def ends_turn(self, error: str = "", *, status: int | None = None, asked: bool = True) -> None:
        self.owed -= asked
        await self.on_message(Result(error, status, 0.01, 5, Usage(90, 80, 4), 0.12, asked))

    async def says(self, text: str) -> None:
        await self.on_message(Assistant("by-hand", (Text(text),)))

    async def uses_a_tool(self, id: str = "1", **input: object) -> None:
        await self.on_message(Assistant("by-hand", (ToolUse(id, "Bash", input),)))

    async def tool_returns(self, text: str, id: str = "1", *, failed: bool = False) -> None:
        await self.on_message(ToolResult(id, text, failed))

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
        passwords: Passwords = NO_PASSWORDS,
        webhooks: WebhooksConfig | None = None,
        costs: CostSettings | None = None,
        trust: TrustConfig | None = None,
        **config: object,
    ) -> None:
        self.socket = home / f"{nick}.sock"
        # Of all its backends, one after the other.
        self.prompts: list[str] = []
        self.runners: list[HandRunner] = []
        self.start_error: CultureError | None = None
        self.statuses: list[str] = []
        self.is_ready = False
        self.patience_s = CONNECT_TIMEOUT_S
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
            proof="own",
            # Programs that a test runs descend from this process, which is the daemon's.
            identify=lambda caller: "tester",
            costs=costs,
            trust=trust,
            on_status=self.statuses.append,
            passwords=passwords,
            webhooks=Webhooks(webhooks, JournalEvents(nick, "claude")) if webhooks is not None else None,
        )

    def _make_runner(self, resume: str) -> HandRunner:
        self.runners.append(HandRunner(self.prompts, resume, self.start_error))
        return self.runners[-1]

    @property
    def runner(self) -> HandRunner:
        return self.runners[-1]

    def states(self) -> list[str]:
        """Of everything that was said to it."""
        return [row["state"] for row in self.daemon.operations.queue_rows()]

    @property
    def channels(self) -> list[str]:
        return self.daemon.operations.status_screen()["channels"]

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
