"""Run one agent: connect its IRC client, its queue, its IPC socket and its backend with each other."""

import asyncio
import contextlib
import secrets
import socket
import ssl
import time
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, Final

from culture.agent.authority.control import AgentAuthority
from culture.agent.backend.backend_runner import BackendRunner, MakeRunner
from culture.agent.contract import SupervisorBase
from culture.agent.identity import NO_PASSWORDS, Passwords, identity_of
from culture.agent.inbox.attention import attention_of
from culture.agent.inbox.buffers import Buffers
from culture.agent.inbox.inbox import Inbox
from culture.agent.inbox.saved_location import SavedLocation
from culture.agent.ledger.cost_control import CostControl, CostSettings
from culture.agent.ledger.settings import unlimited
from culture.agent.operations import AgentOperations
from culture.agent.questions.deferred import DeferredCalls
from culture.agent.questions.records import QuestionRecords
from culture.agent.questions.wiring import ask_to_raise, make_judge, make_questions
from culture.agent.reporting import status
from culture.agent.reporting.journal_events import JournalEvents
from culture.agent.reporting.notices import Notices
from culture.agent.reporting.transcript import Transcriber
from culture.agent.reporting.webhooks import Webhooks
from culture.agent.supervision.interventions import Interventions
from culture.agent.tools.callers import Caller, person_at
from culture.agent.tools.commands import PERSONAL_COMMANDS, run_command
from culture.agent.tools.ipc import IpcServer
from culture.agent.tools.sender import Sender
from culture.agent.tools.toolset import Toolset
from culture.agent.tools.whispers import Whispers
from culture.agent.turns.backend_reports import BackendReports
from culture.agent.turns.final_text import post_final_text
from culture.agent.turns.gate import Gate, Gates, OpenGate
from culture.agent.turns.turn_loop import TurnLoop
from culture.agent.turns.turns import Turns
from culture.client.client import Client
from culture.client.connection import PATIENCE, Patience
from culture.client.events import Echoed, Event, Joined, Left, Refused, Registered, Renamed, Said
from culture.config.address import Address
from culture.config.agent.loop_guard import LoopGuardConfig
from culture.config.agent.trust import TrustConfig
from culture.config.agent.webhooks import WebhooksConfig
from culture.config.agents import AgentConfig, TurnsConfig
from culture.errors import CultureError
from culture.store.agent.file import AgentFile

# How long to wait for the IRC server before reporting READY=1 without it. The boot and `systemctl start` wait
# for READY=1. A server that boots together with the agent is up within seconds; otherwise somebody must act.
CONNECT_TIMEOUT_S: Final = 20.0


class AgentDaemon:
    """Runs one agent until `stop` is called or an error occurs that only a restart can repair."""

    def __init__(
        self,
        config: AgentConfig,
        address: Address,
        make_runner: MakeRunner,
        ipc: socket.socket,
        file: AgentFile,
        directory: Path,
        *,
        limits: TurnsConfig,
        trust: TrustConfig | None = None,
        people: tuple[str, ...] = (),
        loop_guard: LoopGuardConfig | None = None,
        passwords: Passwords = NO_PASSWORDS,
        tls: ssl.SSLContext | None = None,
        patience: Patience = PATIENCE,
        buffer_size: int = 500,
        gate: Gate | None = None,
        supervisor: SupervisorBase | None = None,
        proof: str = "",
        identify: Callable[[Caller], str] = person_at,
        webhooks: Webhooks | None = None,
        costs: CostSettings | None = None,
        on_status: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._config, self._file = config, file
        self._on_status = on_status
        self._journal = JournalEvents(config.nick, config.agent)
        self._webhooks = webhooks or Webhooks(WebhooksConfig(), self._journal)
        channels = tuple(dict.fromkeys((*config.channels, *filter(None, (self._webhooks.channel,)))))
        self._location = SavedLocation(file, channels, directory, is_fresh=config.fresh)
        self._supervisor = supervisor
        buffers = Buffers(
            buffer_size, file.hearing.set_read, lambda msgids: self._turn_loop.read_messages.read(msgids)
        )
        self.whispers = Whispers()
        self._turns = Turns(clock=time.monotonic, new_id=lambda: secrets.token_hex(2))
        identity = identity_of(config, passwords)
        self._client = Client(
            address, identity, self._location.channels, self._received, self._connection_lost, patience, tls
        )
        self._notices = Notices(config.nick, self._client, self._journal, self._webhooks)
        transcriber = Transcriber(file.transcript, self._journal, lambda: int(time.time() * 1000))
        self._backend = BackendRunner(
            make_runner,
            file,
            limits,
            config.agent,
            config.nick,
            clock=time.monotonic,
            wall_clock=time.time,
            on_message=lambda message: self._reports.received(message),
            on_started=self._backend_started,
            on_crash=self._backend_crashed,
            on_paused=lambda why: self.operations.announce_pause(why),
        )
        self.costs = CostControl(
            costs or unlimited(config, file.directory),
            self._journal,
            on_alert=self._notices.alert,
            wake=lambda: self._turn_loop.wake(),
            interrupt=lambda interruption: self._turn_loop.interrupt(interruption),
            restart_backend=lambda: self._backend.restart(fresh=False),
            ask_to_raise=ask_to_raise(lambda: self._questions),
            wall_clock=time.time,
        )
        self._authority = AgentAuthority(
            file, self._client, self._notices, lambda: self._turn_loop, loop_guard, people
        )
        records = QuestionRecords(file, config.nick, lambda: int(time.time() * 1000))
        deferred = DeferredCalls(records, self._backend.answer_deferred)
        gates = Gates(deferred, gate or OpenGate(), self._authority.gate, self.costs.gate)
        self._turn_loop = TurnLoop(
            file,
            self._backend,
            self._turns,
            limits,
            gates,
            self._journal,
            self._notices.alert,
            lambda turn: post_final_text(self._sender, turn),
            transcriber,
            self.whispers,
            deferred,
            clock=time.monotonic,
            wall_clock=time.time,
            on_change=self._report_status,
        )
        self._reports = BackendReports(
            self._turns,
            self._turn_loop,
            self.costs,
            self._journal,
            transcriber,
            supervisor,
            on_change=self._report_status,
            on_error=self.stop,
        )
        self._questions = questions = make_questions(
            config,
            config.trust or trust or TrustConfig(),
            people,
            records,
            self._client,
            self._backend,
            self._turns,
            self._turn_loop,
            self._notices,
            self.costs,
            say=lambda target, text: self._sender.say(target, text),
            on_unread=lambda said: self._inbox.enqueue_if_relevant(said),
        )
        # Decides on each tool call with permission_mode ask.
        self.judge = make_judge(config, directory, questions)
        self._inbox = Inbox(
            self._client,
            file,
            buffers,
            attention_of(config, people),
            questions,
            self._turn_loop,
            self._authority.loop_guard,
            limits.expiry_s,
            on_status_asked=lambda place: self._notices.say(place, self.operations.status()),
            on_control=lambda *command: self.operations.control(*command),
            on_error=self.stop,
        )
        self._sender = Sender(self._client, self._inbox)
        self.operations = AgentOperations(
            self._client,
            file,
            self._location,
            self._backend,
            self._turns,
            self._turn_loop,
            self._reports,
            self._sender,
            self._notices,
            self.costs,
            questions,
            gates,
            config,
            limits,
            on_change=self._report_status,
            on_shutdown=self.stop,
        )
        may_read = config.permission_mode != "deny"
        self._toolset = Toolset(
            self._client, buffers, self.operations, self._location, questions, may_read_files=may_read
        )
        self._ipc_socket = ipc
        self._ipc = IpcServer(
            self.handle,
            self.whispers,
            proof=proof,
            personal=PERSONAL_COMMANDS,
            identify=identify,
            on_unsent=lambda answer: questions.undelivered(answer.get("data", {}).get("question", "")),
        )
        if supervisor is not None:
            Interventions(
                config.nick,
                self._turns,
                self.whispers,
                self._journal,
                self._notices,
                self.operations.escalate,
                on_error=self.stop,
            ).attach(supervisor)
        self._registered = asyncio.Event()
        self._ended: asyncio.Future[CultureError | None] = asyncio.get_running_loop().create_future()
        self._tasks: asyncio.TaskGroup | None = None
        self._is_started = False

    @property
    def is_alive(self) -> bool:
        """Return whether the watchdog may be fed. An unreachable server is no reason for a restart."""
        return self._client.is_healthy

    async def run(
        self,
        on_ready: Callable[[], None],
        on_stop: Callable[[str], None] = lambda why: None,
        *,
        patience_s: float = CONNECT_TIMEOUT_S,
    ) -> None:
        """Run until `stop` is called; raise the error that ended the daemon, if any.

        `on_ready` is called when the backend has started. If the server does not answer within `patience_s`,
        it is called at that time as well.
        """
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            irc = tasks.create_task(self._stop_on_error(self._client.run()))
            work = tasks.create_task(self._stop_on_error(self._work(on_ready, patience_s)))
            why = await self._ended
            on_stop("stopping" if why is None else f"ending: {why}")
            # Cancel this first, so that it does not start a backend during the shutdown.
            work.cancel()
            await asyncio.wait([work])
            await self._shut_down(why)
            irc.cancel()
        if why is not None:
            raise why

    def stop(self, why: CultureError | None = None) -> None:
        """End `run`, which raises the error if there is one."""
        if not self._ended.done():
            self._ended.set_result(why)

    async def _stop_on_error(self, part: Coroutine[Any, Any, None]) -> None:
        try:
            await part
        except CultureError as error:
            self.stop(error)

    async def _work(self, on_ready: Callable[[], None], patience_s: float) -> None:
        self._on_status(self.operations.status())
        self.costs.start(self._file)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                await self._registered.wait()
        await self._ipc.start(self._ipc_socket)
        if not self._registered.is_set():
            # The agent is ready; its status says why it is not on IRC.
            on_ready()
            await self._registered.wait()
        self._on_status(f"starting {self._config.agent}")
        if self._supervisor is not None:
            await self._supervisor.start()
        await self._backend.start(fresh=self._config.fresh)
        self._is_started = True
        on_ready()
        self._report_status()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._stop_on_error(self._backend.run()))
            tasks.create_task(self._stop_on_error(self._turn_loop.run()))
            tasks.create_task(self.operations.state.run())

    async def _shut_down(self, why: CultureError | None) -> None:
        self._turn_loop.stop()
        self._questions.stop()
        await self._backend.stop()
        # If the disk is full, the next process requeues them.
        with contextlib.suppress(CultureError):
            self._turn_loop.requeue_unanswered()
        if self._supervisor is not None:
            await self._supervisor.stop()
        await self._ipc.stop()
        self.operations.state.close()
        self._client.quit(status.quit_message(why))
        await self._webhooks.close()
        self._inbox.close()
        self.costs.close()

    # Events from IRC

    def _received(self, event: Event) -> None:
        try:
            self._dispatch(event)
        except CultureError as error:
            # The agent's file cannot be written. The next process replays the message from history.
            self.stop(error)

    def _dispatch(self, event: Event) -> None:
        match event:
            case Said(is_from_server=False) | Echoed():
                self._inbox.received(event)
            case Registered(nick, server):
                self._journal.connected(server, self._client.address, nick)
                self.operations.absence = ""
                self.operations.state.connected()
                self._report_status()
                self._inbox.connected()
                assert self._tasks is not None
                self._tasks.create_task(self._stop_on_error(self._replay_missed_messages()))
            case Joined(nick, channel) if nick == self._client.nick:
                self._inbox.received(event)
                self._location.joined(channel)
                self._report_status()
            case Left(nick, channel, reason) if nick == self._client.nick:
                self._journal.not_in(channel, reason)
                self._location.left(channel)
                self._report_status()
            case Renamed(old, new):
                self._questions.renamed(old, new)
            case Refused(_, about, text) if about in self._config.channels:
                self._journal.not_in(about, text)
            case _:
                self._authority.received(event)

    async def _replay_missed_messages(self) -> None:
        try:
            self._journal.caught_up(await self._inbox.catch_up())
        except CultureError as error:
            if not self._client.is_registered:
                # The connection is lost again; the next one replays from the same mark.
                return
            self._journal.not_caught_up(error)
        self._questions.recover()
        self._turn_loop.caught_up()
        self._registered.set()

    def _connection_lost(self, why: CultureError, wait_s: float) -> None:
        self._turn_loop.connection_lost()
        self._journal.connection_lost(self._client.address, why, wait_s)
        self.operations.absence = f"not connected: {why}; trying again in {wait_s:.0f} s"
        self._on_status(self.operations.status())

    # Events from the backend

    def _backend_started(self) -> None:
        self._journal.session_started()
        self._turn_loop.wake()
        self._report_status()

    def _backend_crashed(self, why: str, again_s: float | None) -> None:
        self._reports.backend_down(why)
        try:
            self._turn_loop.backend_crashed(why, again_s)
        except CultureError as error:
            self.stop(error)
        self._report_status()

    def _report_status(self) -> None:
        if self._is_started:
            self._on_status(self.operations.status())
            self.operations.state.changed()

    # Requests of the irc skill and of culturectl

    async def handle(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Run one request that came over the agent's socket or from one of its tools."""
        return await run_command(self._toolset, request)
