"""One agent: its IRC client, its skill's socket and its backend, wired together."""

import asyncio
import secrets
import socket
import time
from collections.abc import Callable, Coroutine
from typing import Any, Final

from culture.agent import status
from culture.agent.attention import concern_of
from culture.agent.buffers import Buffers, Heard, Reading
from culture.agent.commands import run_command
from culture.agent.contract import AgentRunnerBase, Message
from culture.agent.ipc import IpcServer
from culture.agent.prompt import format_prompt, neutral, spoken
from culture.agent.story import Story
from culture.agent.turns import Request, Turns
from culture.client.client import Client
from culture.client.events import Event, Joined, Left, Refused, Registered, Said
from culture.client.registration import Identity
from culture.client.session import Kind
from culture.config.address import Address
from culture.config.agents import AgentConfig
from culture.errors import CultureError, TemporaryError
from culture.protocol.render import format_time

_TOLD_BYTES: Final = 300


class AgentDaemon:
    """Runs until it is asked to stop, or until something ends it that only a restart can mend."""

    def __init__(
        self,
        config: AgentConfig,
        address: Address,
        runner: AgentRunnerBase,
        ipc: socket.socket,
        *,
        password: str = "",
        buffer_size: int = 500,
        is_rehearsing: bool = False,
        on_status: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._config = config
        self._on_status = on_status
        self._story = Story(config.nick, config.agent, is_rehearsing=is_rehearsing)
        self._buffers = Buffers(buffer_size)
        self._turns = Turns(clock=time.monotonic, new_id=lambda: secrets.token_hex(2))
        identity = Identity(config.nick, config.agent, f"{config.agent} agent", password)
        self._client = Client(address, identity, config.channels, self._received, self._went_down)
        self._ipc_socket = ipc
        self._ipc = IpcServer(lambda request: run_command(self, request))
        self._runner = runner
        runner.on_message = self._runner_said
        runner.on_exit = self._runner_exited
        self._registered = asyncio.Event()
        self._woken = asyncio.Event()
        self._ended: asyncio.Future[CultureError | None] = asyncio.get_running_loop().create_future()
        self._is_started = False

    @property
    def is_alive(self) -> bool:
        """Whether a restart would be no better. Having no server is not our fault, and we keep trying."""
        return self._client.is_healthy

    async def run(self, on_ready: Callable[[], None], on_stop: Callable[[], None] = lambda: None) -> None:
        """Raises what ended it, unless that was `stop`."""
        async with asyncio.TaskGroup() as tasks:
            irc = tasks.create_task(self._or_end(self._client.run()))
            work = tasks.create_task(self._or_end(self._work(on_ready)))
            why = await self._ended
            on_stop()
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

    async def _work(self, on_ready: Callable[[], None]) -> None:
        self._on_status(f"connecting to {self._client.address}")
        await self._registered.wait()
        await self._ipc.start(self._ipc_socket)
        self._on_status(f"starting {self._config.agent}")
        await self._runner.start()
        self._story.session_started()
        self._is_started = True
        on_ready()
        self._tell_status()
        while True:
            await self._woken.wait()
            self._woken.clear()
            await self._begin_turn()

    async def _shut_down(self, why: CultureError | None) -> None:
        self._give_up(str(why) if why else "the agent is being stopped")
        await self._runner.stop()
        await self._ipc.stop()
        self._client.quit("stopping" if why is None else "restarting")

    # What comes from IRC

    def _received(self, event: Event) -> None:
        match event:
            case Said(is_from_server=False):
                self._said(event)
            case Registered(nick, server):
                self._registered.set()
                self._story.connected(server, self._client.address, nick)
                self._tell_status()
            case Joined(nick) if nick == self._client.nick:
                self._tell_status()
            case Left(nick, channel, reason) if nick == self._client.nick:
                self._story.not_in(channel, reason)
                self._tell_status()
            case Refused(_, about, text) if about in self._config.channels:
                self._story.not_in(about, text)
            case _:
                return

    def _said(self, said: Said) -> None:
        heard = Heard(said.time or _now(), neutral(said.sender), spoken(said.text))
        self._buffers.add(said.channel or said.sender, heard)
        if concern_of(said, self._client.nick) is not None:
            self._turns.add(Request(said.sender, said.channel, format_prompt(said)))
            self._woken.set()
            self._tell_status()

    def _went_down(self, why: CultureError, wait_s: float) -> None:
        self._story.connection_lost(self._client.address, why, wait_s)
        self._on_status(f"not connected: {why}; trying again in {wait_s:.0f} s")

    # Turns

    async def _begin_turn(self) -> None:
        turn = self._turns.begin()
        if turn is not None:
            await self._runner.send_prompt(turn.request.prompt)
            self._story.turn_began(turn)
            self._tell_status()

    async def _runner_said(self, message: Message) -> None:
        # Here a supervisor will observe what the agent does.
        match message:
            case {"type": "result", "asked": False}:
                self._story.unasked_turn_ended(message)
            case {"type": "result", "failed": failed, "error": error, "cost_usd": cost_usd}:
                self._end_turn(error or "no reason given" if failed else "", cost_usd)

    async def _runner_exited(self, code: int) -> None:
        self.stop(
            TemporaryError(f"{self._config.agent} ended with status {code}", hint="see the lines above")
        )

    def _end_turn(self, error: str, cost_usd: float | None = None) -> None:
        ended = self._turns.end(error)
        if ended is None:
            return
        self._story.turn_ended(ended, cost_usd, is_stopping=self._ended.done())
        if error:
            self._tell(ended.turn.request, f"turn {ended.turn.id} failed: {error}")
        self._woken.set()
        self._tell_status()

    def _give_up(self, why: str) -> None:
        """Nobody who waits is left without a word."""
        self._end_turn(why)
        for request in self._turns.give_up():
            self._tell(request, f"your message was not looked at: {why}")

    def _tell(self, request: Request, text: str) -> None:
        """In a NOTICE, so that an agent at the other end does not answer it."""
        text = text.encode()[:_TOLD_BYTES].decode(errors="ignore")
        try:
            self._client.say(request.reply_to, f"{request.sender}: {text}", Kind.NOTICE)
        except CultureError as error:
            self._story.not_told(request.reply_to, error)

    def _tell_status(self) -> None:
        if self._is_started:
            self._on_status(self.status())

    # What the skill asks for

    async def say(self, target: str, text: str) -> list[str]:
        lines = await self._client.send_message(target, text)
        self._turns.spoke()
        for line in lines:
            self._buffers.add(target, Heard(_now(), self._client.nick, line))
        return lines

    def read(self, conversation: str, limit: int) -> Reading:
        return self._buffers.read(conversation, limit)

    def whoami(self) -> dict[str, Any]:
        return {
            "nick": self._client.nick,
            "server": str(self._client.address),
            "channels": self._client.channels(),
            "connected": self._client.is_registered,
        }

    def status(self) -> str:
        return status.describe(self._turns, self._client.channels(), str(self._client.address))


def _now() -> str:
    """In the form of server-time, for servers that do not say when."""
    return format_time(time.time())
