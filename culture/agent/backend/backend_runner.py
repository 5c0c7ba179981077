"""Keep the backend running: resume its session, start it again after a crash, stop after too many."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final

from culture.agent.backend.circuit_breaker import CircuitBreaker
from culture.agent.backend.login_hint import UNAUTHORIZED, is_login_missing, with_login_command
from culture.agent.contract import AgentRunnerBase, Effort, Message, Result, SideAnswer
from culture.config.agents import TurnsConfig
from culture.errors import ConfigError, CultureError, Problem, TemporaryError, UnavailableError
from culture.store.agent.file import AgentFile

_SESSION: Final = "session"
_PAUSED: Final = "paused"
_PAUSED_SINCE: Final = "paused_since"

# Of the session that it is to go on with, or of nothing for a new one.
MakeRunner = Callable[[str], AgentRunnerBase]


class BackendRunner:
    """Runs one backend and starts it again when it ends."""

    def __init__(
        self,
        make_runner: MakeRunner,
        file: AgentFile,
        limits: TurnsConfig,
        name: str,
        nick: str,
        *,
        clock: Callable[[], float],
        wall_clock: Callable[[], float],
        on_message: Callable[[Message], Awaitable[None]],
        on_started: Callable[[], None],
        on_crash: Callable[[str, float | None], None],
        on_paused: Callable[[str], None],
    ) -> None:
        self._make_runner = make_runner
        self._file = file
        self._limits = limits
        self._name = name
        self._nick = nick
        self._clock = clock
        self._on_message = on_message
        self._on_started = on_started
        self._on_crash = on_crash
        self._on_paused = on_paused
        self._breaker = CircuitBreaker(limits.crashes, limits.crash_window_s)
        self._runner: AgentRunnerBase | None = None
        self._is_up = False
        self._is_wanted = asyncio.Event()
        self._delay_s = 0.0
        self._wall_clock = wall_clock
        self.paused_because = file.kept(_PAUSED)
        # Unix time of the pause; None if the agent is not paused.
        self.paused_since_s = float(file.kept(_PAUSED_SINCE) or 0) or None
        # Why it does not run, since its last crash.
        self._crashed_because = ""
        # That it is not logged in, since a turn failed because of that.
        self._login_missing = ""
        # The one that is going on, or that will be gone on with.
        self.session_id = file.kept(_SESSION)

    @property
    def is_running(self) -> bool:
        return self._runner is not None and self._runner.is_running()

    @property
    def down_because(self) -> str:
        """Return why the backend does not work; empty while it does."""
        if self.is_running:
            return self._login_missing
        return self._crashed_because or f"{self._name} is being started"

    @property
    def is_paused(self) -> bool:
        return bool(self.paused_because)

    async def start(self, *, fresh: bool) -> None:
        """Raises ConfigError if a person has to act first. A paused one is not started before `resume`."""
        if fresh:
            self.session_id = ""
        if not self.is_paused:
            await self._start()

    async def run(self) -> None:
        """Starts the backend again whenever it has ended."""
        while True:
            await self._is_wanted.wait()
            await asyncio.sleep(self._delay_s)
            try:
                await self._start()
            except CultureError as error:
                self._crashed(str(error))

    async def stop(self) -> None:
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.stop()

    async def restart(self, *, fresh: bool) -> None:
        """End the backend and start it again, with a new session if `fresh`. A paused one is not started."""
        await self.stop()
        if fresh:
            self._file.keep(_SESSION, "")
            self.session_id = ""
        self._crashed_because = ""
        if not self.is_paused:
            self._delay_s = 0.0
            self._is_wanted.set()

    async def give_up(self, why: str) -> None:
        """End a backend by force that lives and does not answer any more."""
        await self.stop()
        self._crashed(f"{self._name}: {why}")

    def pause(self, why: str) -> None:
        """Begin no turn until `resume`, also after a restart. A turn that runs goes on."""
        if self.paused_since_s is None:
            self.paused_since_s = self._wall_clock()
            self._file.keep(_PAUSED_SINCE, str(self.paused_since_s))
        self._file.keep(_PAUSED, why)
        self.paused_because = why

    def resume(self) -> bool:
        """Allow turns again. Return whether it was paused."""
        was_paused, self.paused_because, self.paused_since_s = self.is_paused, "", None
        self._file.keep(_PAUSED, "")
        self._file.keep(_PAUSED_SINCE, "")
        self._breaker.close()
        if was_paused and not self.is_running:
            self._delay_s = 0.0
            self._is_wanted.set()
        return was_paused

    async def send_prompt(self, text: str, *, effort: Effort | None = None) -> None:
        await self._running().send_prompt(text, effort=effort)

    async def interrupt(self) -> None:
        await self._running().interrupt()

    async def ask_aside(self, prompt: str, background: str) -> SideAnswer:
        """Answer a prompt beside the running turn. Raise UnavailableError if the backend cannot do this."""
        return await self._running().ask_aside(prompt, background=background)

    async def answer_deferred(self, call_id: str, allowed: bool, reason: str) -> None:
        """Continue the turn whose tool call the backend keeps."""
        await self._running().answer_deferred(call_id, allowed=allowed, reason=reason)

    async def compact(self) -> None:
        await self._running().compact()

    async def clear(self) -> None:
        await self._running().clear()

    def _running(self) -> AgentRunnerBase:
        if self._runner is None or not self._runner.is_running():
            raise TemporaryError(f"{self._name} is not running", hint="see culturectl status")
        return self._runner

    async def _start(self) -> None:
        """Start the backend with a new runner, so that nothing of the last one is left in it."""
        self._is_wanted.clear()
        runner = self._make_runner(self.session_id)
        runner.on_message = self._said
        runner.on_exit = lambda code: self._exited(runner, code)
        self._runner = runner
        self._is_up = False
        try:
            await runner.start()
        except UnavailableError as error:
            what = str(error)
            if is_login_missing(what):
                what = with_login_command(what, self._nick)
            raise ConfigError([Problem(f"backend '{self._name}'", what, error.hint)]) from None
        self._is_up = True
        self._crashed_because = ""
        self._remember_session()
        self._on_started()

    async def _said(self, message: Message) -> None:
        self._remember_session()
        if isinstance(message, Result):
            message = self._with_login_command(message)
        await self._on_message(message)

    def _with_login_command(self, result: Result) -> Result:
        is_missing = is_login_missing(result.error)
        # A key may be wrong, or a login too old: the status names the command that helps with one of them.
        is_refused = is_missing or (result.failed and result.status == UNAUTHORIZED)
        self._login_missing = with_login_command(result.error, self._nick) if is_refused else ""
        return replace(result, error=self._login_missing) if is_missing else result

    def _remember_session(self) -> None:
        session = self._runner.session_id if self._runner is not None else None
        if session and session != self.session_id:
            self._file.keep(_SESSION, session)
            self.session_id = session

    async def _exited(self, runner: AgentRunnerBase, code: int) -> None:
        # What ends while it is being started says so by the error of its start.
        if runner is self._runner and self._is_up:
            self._runner = None
            self._crashed(f"{self._name} ended with status {code}")

    def _crashed(self, why: str) -> None:
        limits = self._limits
        self._crashed_because = why
        if self._breaker.crashed(self._clock()):
            self._on_crash(why, None)
            because = f"{limits.crashes} crashes within {limits.crash_window_s:.0f} s, the last one: {why}"
            self.pause(because)
            self._on_paused(because)
            return
        self._on_crash(why, limits.restart_delay_s)
        self._delay_s = limits.restart_delay_s
        self._is_wanted.set()
