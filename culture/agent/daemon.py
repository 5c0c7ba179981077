"""One agent: its IRC client, its skill's socket and its backend, wired together."""

import asyncio
import contextlib
import secrets
import socket
import ssl
import time
from collections.abc import Callable, Coroutine, Mapping
from datetime import date
from pathlib import Path
from typing import Any, Final

from culture.agent import status
from culture.agent.alerts import Alert, Kind
from culture.agent.answering import Answering
from culture.agent.attention import attention_of
from culture.agent.buffers import Buffers
from culture.agent.commands import run_command
from culture.agent.contract import Message, SupervisorBase
from culture.agent.desk import Desk
from culture.agent.ears import Ears
from culture.agent.gate import Gate, OpenGate
from culture.agent.identity import NO_PASSWORDS, Passwords, identity_of
from culture.agent.ipc import IpcServer
from culture.agent.notices import Notices
from culture.agent.story import Story
from culture.agent.turns import Turns
from culture.agent.upkeep import MakeRunner, Upkeep
from culture.agent.voice import Voice
from culture.agent.whereabouts import Whereabouts
from culture.agent.whispers import Whispers
from culture.client.client import Client, Sent
from culture.client.events import Echoed, Event, Joined, Left, Refused, Registered, Said
from culture.config.address import Address
from culture.config.agents import AgentConfig, TurnsConfig
from culture.errors import ConfigError, CultureError
from culture.store.agent.file import AgentFile
from culture.store.agent.queue import State
from culture.store.agent.spending import Use

PATIENCE_S: Final = 20.0
"""How long to wait for the server before being ready without it. A boot waits until we are ready, and so does
whoever typed `systemctl start`; a server that boots with us is there within seconds, or somebody must act."""


class AgentDaemon:
    """Runs until it is asked to stop, or until something ends it that only a restart can mend."""

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
        passwords: Passwords = NO_PASSWORDS,
        tls: ssl.SSLContext | None = None,
        buffer_size: int = 500,
        is_rehearsing: bool = False,
        gate: Gate | None = None,
        supervisor: SupervisorBase | None = None,
        on_status: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._config = config
        self._on_status = on_status
        self._file = file
        self._whereabouts = Whereabouts(file, config.channels, directory, is_fresh=config.fresh)
        self._is_rehearsing = is_rehearsing
        self._supervisor = supervisor
        self._story = Story(config.nick, config.agent)
        buffers = Buffers(buffer_size, on_read=file.hearing.set_read)
        self._turns = Turns(clock=time.monotonic, new_id=lambda: secrets.token_hex(2))
        self._client = Client(
            address,
            identity_of(config, passwords),
            self._whereabouts.channels,
            self._received,
            self._went_down,
            tls=tls,
        )
        self._notices = Notices(self._client, self._story)
        self._upkeep = Upkeep(
            make_runner,
            file,
            limits,
            config.agent,
            clock=time.monotonic,
            on_message=self._runner_said,
            on_started=self._started,
            on_crash=self._crashed,
            on_paused=self._paused,
        )
        self._answering = Answering(
            file,
            self._upkeep,
            self._turns,
            limits,
            gate or OpenGate(),
            self._story,
            self._notices.alert,
            clock=time.monotonic,
            wall_clock=time.time,
            today=_today,
            on_change=self._tell_status,
        )
        self._desk = Desk(self._client, buffers, self, self._whereabouts, config.allow_from)
        self._ears = Ears(
            self._client,
            file,
            buffers,
            attention_of(config),
            self._desk.questions,
            self._answering,
            limits.expiry_s,
            on_status_asked=lambda place: self._notices.say(place, self.status()),
            on_error=self.stop,
        )
        self._voice = Voice(self._client, self._ears)
        self.whispers = Whispers()
        self._ipc_socket = ipc
        self._ipc = IpcServer(self.handle, self.whispers)
        if supervisor is not None:
            supervisor.on_whisper = self._whispered
        self._registered = asyncio.Event()
        self._ended: asyncio.Future[CultureError | None] = asyncio.get_running_loop().create_future()
        self._tasks: asyncio.TaskGroup | None = None
        self._is_started = False
        # Why it is not on IRC; empty while it is.
        self._absence = f"connecting to {address}"
        self._context: float | None = None
        self._last_error = ""

    @property
    def is_alive(self) -> bool:
        """Whether a restart would be no better. Having no server is not our fault, and we keep trying."""
        return self._client.is_healthy

    async def run(
        self,
        on_ready: Callable[[], None],
        on_stop: Callable[[str], None] = lambda why: None,
        *,
        patience_s: float = PATIENCE_S,
    ) -> None:
        """Raises what ended it, unless that was `stop`. If patience runs out, ready is told twice."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            irc = tasks.create_task(self._or_end(self._client.run()))
            work = tasks.create_task(self._or_end(self._work(on_ready, patience_s)))
            why = await self._ended
            on_stop("stopping" if why is None else f"ending: {why}")
            # First, so that a backend that is just being started is not started behind our back.
            work.cancel()
            await asyncio.wait([work])
            await self._shut_down(why)
            irc.cancel()
        if why is not None:
            raise why

    def stop(self, why: CultureError | None = None) -> None:
        if not self._ended.done():
            self._ended.set_result(why)

    async def _or_end(self, part: Coroutine[Any, Any, None]) -> None:
        try:
            await part
        except CultureError as error:
            self.stop(error)

    async def _work(self, on_ready: Callable[[], None], patience_s: float) -> None:
        self._on_status(self.status())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                await self._registered.wait()
        await self._ipc.start(self._ipc_socket)
        if not self._registered.is_set():
            # The status says why it is not on IRC.
            on_ready()
            await self._registered.wait()
        self._on_status(f"starting {self._config.agent}")
        if self._supervisor is not None:
            await self._supervisor.start()
        await self._upkeep.start(fresh=self._config.fresh)
        self._is_started = True
        on_ready()
        self._tell_status()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._or_end(self._upkeep.run()))
            tasks.create_task(self._or_end(self._answering.run()))

    async def _shut_down(self, why: CultureError | None) -> None:
        self._answering.stop()
        await self._upkeep.stop()
        # On a full disk the next process does it.
        with contextlib.suppress(CultureError):
            self._answering.stopped()
        if self._supervisor is not None:
            await self._supervisor.stop()
        await self._ipc.stop()
        self._client.quit(_last_words(why))
        self._ears.close()

    # What comes from IRC

    def _received(self, event: Event) -> None:
        try:
            self._take(event)
        except CultureError as error:
            # Our file cannot be written. What was said is heard again by the next process.
            self.stop(error)

    def _take(self, event: Event) -> None:
        match event:
            case Said(is_from_server=False) | Echoed():
                self._ears.received(event)
            case Registered(nick, server):
                self._story.connected(server, self._client.address, nick)
                self._absence = ""
                self._tell_status()
                self._ears.connected()
                assert self._tasks is not None
                self._tasks.create_task(self._or_end(self._hear_what_was_missed()))
            case Joined(nick, channel) if nick == self._client.nick:
                self._ears.received(event)
                self._whereabouts.joined(channel)
                self._tell_status()
            case Left(nick, channel, reason) if nick == self._client.nick:
                self._story.not_in(channel, reason)
                self._whereabouts.left(channel)
                self._tell_status()
            case Refused(_, about, text) if about in self._config.channels:
                self._story.not_in(about, text)
            case _:
                return

    async def _hear_what_was_missed(self) -> None:
        try:
            self._story.caught_up(await self._ears.catch_up())
        except CultureError as error:
            if not self._client.is_registered:
                # Lost again; the next connection begins where this one did.
                return
            self._story.not_caught_up(error)
        self._answering.caught_up()
        self._registered.set()

    def _went_down(self, why: CultureError, wait_s: float) -> None:
        self._answering.cut_off()
        self._story.connection_lost(self._client.address, why, wait_s)
        self._absence = f"not connected: {why}; trying again in {wait_s:.0f} s"
        self._on_status(self.status())

    # What comes from the backend

    async def _runner_said(self, message: Message) -> None:
        try:
            self._note_message(message)
        except CultureError as error:
            self.stop(error)
        if self._supervisor is not None:
            await self._supervisor.observe(message)

    def _note_message(self, message: Message) -> None:
        match message:
            case {"type": "assistant", "content": content} if self._turns.current is not None:
                self._turns.current.shows_life(time.monotonic(), content)
            case {"type": "result", "asked": False}:
                use = self._use_of(message)
                self._story.unasked_turn_ended(use, message["duration_ms"])
                with self._file.at_once():
                    self._file.spending.add(_today(), use)
            case {"type": "result"}:
                self._context = message["context"]
                self._last_error = message["error"] if message["failed"] else self._last_error
                self._answering.ended(message, self._use_of(message))
                self._tell_status()

    async def _whispered(self, text: str, kind: str) -> None:
        self.whispers.add(text, kind)

    def _use_of(self, result: Message) -> Use:
        usage = result["usage"]
        return Use(
            usage.get("input_tokens", 0),
            usage.get("cached_tokens", 0),
            usage.get("output_tokens", 0),
            # What a backend takes for its cost in a rehearsal is none.
            None if self._is_rehearsing else result["cost_usd"],
        )

    def _started(self) -> None:
        self._story.session_started()
        self._answering.wake()
        self._tell_status()

    def _crashed(self, why: str, again_s: float | None) -> None:
        self._last_error = why
        try:
            self._answering.crashed(why, again_s)
        except CultureError as error:
            self.stop(error)
        self._tell_status()

    def _paused(self, why: str) -> None:
        hint = f"culturectl resume {self._config.nick}"
        places = tuple(self._client.channels())
        self._notices.alert(Alert(Kind.PAUSED, f"paused: {why}; hint: {hint}", places))
        self._tell_status()

    def _tell_status(self) -> None:
        if self._is_started:
            self._on_status(self.status())

    # What the skill, and people by culturectl, ask for

    async def handle(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """One request of the agent's socket, or of its tools."""
        return await run_command(self._desk, request)

    async def say(self, target: str, text: str) -> Sent:
        return await self._voice.say(target, text)

    def pause(self, why: str) -> None:
        self._upkeep.pause(why)
        self._tell_status()

    def resume(self) -> bool:
        """Whether it was paused."""
        was_paused = self._upkeep.resume()
        if was_paused:
            self._notices.alert(Alert(Kind.RESUMED, "resumed", tuple(self._client.channels())))
            self._answering.wake()
            self._tell_status()
        return was_paused

    async def compact(self) -> None:
        await self._upkeep.compact()

    async def clear(self) -> None:
        await self._upkeep.clear()

    def status(self) -> str:
        return status.describe(
            self._turns,
            self._client.channels(),
            str(self._client.address),
            self._file.queue.count(State.QUEUED),
            absence=self._absence,
            paused=self._upkeep.paused_because,
            held_back=self._answering.held_back_by,
        )

    def queue_rows(self) -> list[dict[str, Any]]:
        return status.queue_rows(self._file.queue)

    def status_screen(self) -> dict[str, Any]:
        return {
            **self._desk.whoami(),
            "asks": self._desk.questions.targets(),
            "status": self.status(),
            "backend": self._config.agent,
            "running": self._upkeep.is_running,
            "paused": self._upkeep.paused_because,
            "queue": {state.value: self._file.queue.count(state) for state in State},
            "turn": status.turn_row(self._turns.current, time.monotonic()),
            "session": self._upkeep.session_id,
            "context": self._context,
            "today": self._file.spending.on(_today())._asdict(),
            "total": self._file.spending.in_total()._asdict(),
            "last_error": self._last_error,
        }


def _last_words(why: CultureError | None) -> str:
    if isinstance(why, ConfigError):
        # Nobody starts it again before somebody has done something about it.
        return f"ending: {why}"
    return "stopping" if why is None else "restarting"


def _today() -> str:
    return date.today().isoformat()
