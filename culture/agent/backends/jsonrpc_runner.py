"""Run a backend whose program speaks JSON-RPC: start it, do its jobs in order, end it."""

import asyncio
import contextlib
import os
import shutil
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from culture.agent.backends import wording
from culture.agent.backends.jobs import Job, JobKind, Jobs
from culture.agent.backends.jsonrpc import DisconnectedError, RpcError
from culture.agent.backends.one_shot import ask_once
from culture.agent.backends.program import Program
from culture.agent.backends.quota import Quota
from culture.agent.backends.side_prompt import side_prompt
from culture.agent.backends.toolless import MakeToolless, toolless_spec
from culture.agent.contract import (
    AgentRunnerBase,
    ContextChanged,
    Effort,
    Message,
    Result,
    SessionSpec,
    SideAnswer,
)
from culture.errors import TemporaryError, UnavailableError

START_TIMEOUT_S: Final = 60.0
LAST_WORDS_S: Final = 1.0


Tell = Callable[[Message], Awaitable[None]]


class NoSuchSessionError(TemporaryError):
    """The program does not have the session that it is to fork."""


class BackendSession(Protocol):
    """A session of a running program. Its methods raise DisconnectedError when the program ends."""

    # The id that resumes the session, as SessionSpec.resume.
    id: str

    async def listen(self) -> None:
        """Read what the program says until it ends. No other method returns without this."""

    async def open(self, resume: str) -> None:
        """Resume that session if the program can, otherwise begin one."""

    async def prompt(self, text: str, effort: Effort | None) -> Result:
        """Run a turn and return its result. Raise TimeoutError if it was cancelled and does not end."""

    async def compact(self) -> ContextChanged:
        """Summarise the context."""

    async def clear(self) -> ContextChanged:
        """Begin a new session in place of this one."""

    def cancel(self) -> None:
        """End the running turn soon. Do nothing if none runs."""


@dataclass(frozen=True, slots=True)
class Speaker:
    """A program that speaks JSON-RPC, and how to begin a session with it."""

    name: str
    command: tuple[str, ...]
    # The command that installs the program, for people to type; empty if nobody knows it.
    install: str
    converse: Callable[[Program, Tell], BackendSession]
    # Variables on top of those of the session.
    env: Mapping[str, str] = field(default_factory=dict)
    # Makes the runner that answers beside a turn; None for such a runner itself.
    make_toolless: MakeToolless | None = None
    # Whether the toolless runner forks the session that it is told to resume.
    can_fork: bool = False


@dataclass(frozen=True, slots=True)
class _Life:
    """A running program, its session, and the task that works with them."""

    program: Program
    session: BackendSession
    task: "asyncio.Task[None]"


class JsonRpcRunner(AgentRunnerBase):
    """Runs a program that speaks JSON-RPC, with one session."""

    def __init__(self, spec: SessionSpec, speaker: Speaker) -> None:
        self._spec = spec
        self._speaker = speaker
        self._life: _Life | None = None
        self._jobs = Jobs()
        self._quota = Quota()

    def is_running(self) -> bool:
        return self._life is not None

    @property
    def session_id(self) -> str | None:
        return self._life.session.id if self._life else None

    def look_for_program(self) -> None:
        _find(self._speaker, self._env().get("PATH"))

    async def start(self, initial_prompt: str = "") -> None:
        env = self._env()
        found = _find(self._speaker, env.get("PATH"))
        program = await Program.start((found, *self._speaker.command[1:]), self._spec.directory, env)
        session = self._speaker.converse(program, self._tell)
        listening = asyncio.create_task(session.listen())
        try:
            await self._open(program, session)
        except BaseException:
            await program.end()
            await listening
            raise
        self._jobs = Jobs()
        task = asyncio.create_task(self._live(program, session, listening))
        self._life = _Life(program, session, task)
        if initial_prompt:
            await self.send_prompt(initial_prompt)

    def _env(self) -> dict[str, str]:
        return {**os.environ, **self._spec.env, **self._speaker.env}

    async def _open(self, program: Program, session: BackendSession) -> None:
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                await session.open(self._spec.resume)
        except TimeoutError:
            why = f"did not start within {START_TIMEOUT_S:.0f} s"
            raise TemporaryError(f"{self._speaker.name} {why}") from None
        except RpcError as error:
            raise TemporaryError(f"{self._speaker.name} did not start: {error}") from None
        except DisconnectedError:
            code = await program.wait()
            raise TemporaryError(wording.ended(self._speaker.name, code, program.last_words)) from None

    async def send_prompt(self, text: str, *, effort: Effort | None = None) -> None:
        self._jobs.add(Job(JobKind.PROMPT, text, effort))

    async def compact(self) -> None:
        self._jobs.add(Job(JobKind.COMPACT))

    async def clear(self) -> None:
        self._jobs.add(Job(JobKind.CLEAR))

    async def ask_aside(self, prompt: str, *, background: str = "") -> SideAnswer:
        make = self._speaker.make_toolless
        if make is None:
            raise UnavailableError(f"{self._speaker.name} cannot answer beside its turn")
        briefing, session_id = self._spec.briefing, self.session_id
        if self._speaker.can_fork and session_id:
            fork = make(toolless_spec(self._spec, briefing, resume=session_id))
            with contextlib.suppress(NoSuchSessionError):
                return await ask_once(fork, prompt)
        return await ask_once(make(toolless_spec(self._spec, briefing)), side_prompt(background, prompt))

    async def interrupt(self) -> None:
        if self._life is not None:
            self._life.session.cancel()

    async def stop(self) -> None:
        life = self._let_go()
        if life is None:
            return
        life.session.cancel()
        life.task.cancel()
        await asyncio.gather(life.task, return_exceptions=True)
        await life.program.end()
        await self._exited(0)

    def _let_go(self) -> "_Life | None":
        """Return the running program once: only one of `stop` and its own end ends the session."""
        life, self._life = self._life, None
        return life

    async def _live(self, program: Program, session: BackendSession, listening: "asyncio.Task[None]") -> None:
        """Work until the program ends, or until it says something that we do not understand."""
        working = asyncio.create_task(self._work(session))
        ending = asyncio.create_task(program.wait())
        try:
            await asyncio.wait([working, listening, ending], return_when=asyncio.FIRST_COMPLETED)
            code = await program.end()
            # What it said before its end is still on its way.
            await asyncio.wait([listening], timeout=LAST_WORDS_S)
        finally:
            await _cancel(working, listening, ending)
        if self._let_go() is None:
            return
        for job in self._jobs.give_up():
            await self._tell(job.failed(wording.ended(self._speaker.name, code, program.last_words)))
        await self._exited(code)
        for part in (working, listening):
            if not part.cancelled():
                # What nobody expected is told with its traceback.
                part.result()

    async def _work(self, session: BackendSession) -> None:
        while True:
            job = await self._jobs.begin()
            try:
                done = await _do(session, job)
            except (DisconnectedError, TimeoutError):
                # It is gone, or has to go.
                return
            self._jobs.end()
            await self._tell(done)

    async def _tell(self, message: Message) -> None:
        for each in (*self._quota.before(message), message):
            if self.on_message is not None:
                await self.on_message(each)

    async def _exited(self, code: int) -> None:
        if self.on_exit is not None:
            await self.on_exit(code)


def _find(speaker: Speaker, path: str | None) -> str:
    found = shutil.which(speaker.command[0], path=path)
    if found is None:
        what = f"the program '{speaker.command[0]}' is not on PATH"
        raise UnavailableError(what, hint=speaker.install or None)
    return found


async def _do(session: BackendSession, job: Job) -> Message:
    match job.kind:
        # Only claude has deferred calls to continue with.
        case JobKind.PROMPT | JobKind.CONTINUE:
            return await session.prompt(job.text, job.effort)
        case JobKind.COMPACT:
            return await session.compact()
        case JobKind.CLEAR:
            return await session.clear()


async def _cancel(*tasks: "asyncio.Task[Any]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
