"""The runner of Claude Code: one program, one reader of everything that it says, one writer of its jobs."""

import asyncio
import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Final

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeSDKError,
    ConversationResetMessage,
    ProcessError,
    RateLimitEvent,
    ResultError,
    ResultMessage,
    SystemMessage,
    UserMessage,
)
from claude_agent_sdk import Message as SdkMessage

from culture.agent.backends import wording
from culture.agent.backends.claude import messages
from culture.agent.backends.claude.aside import ask_fork, ask_once
from culture.agent.backends.claude.cli import find_cli
from culture.agent.backends.claude.control import Totals, read_totals, set_effort, totals_of
from culture.agent.backends.claude.deferrals import Deferrals
from culture.agent.backends.claude.options import check_allowed, make_options
from culture.agent.backends.claude.process import CliProcess
from culture.agent.backends.claude.rate_limits import rate_limits
from culture.agent.backends.jobs import Job, JobKind, Jobs
from culture.agent.backends.quota import Quota
from culture.agent.backends.side_prompt import side_prompt
from culture.agent.contract import (
    AgentRunnerBase,
    ContextChanged,
    Effort,
    Message,
    Result,
    SessionSpec,
    SideAnswer,
    UsageReport,
)
from culture.errors import CultureError, TemporaryError, UnavailableError

INTERRUPT_TIMEOUT_S: Final = 2.0
# How long a resumed session may take to repeat its deferred call, before it gets prompts.
REPEAT_TIMEOUT_S: Final = 20.0
# What the CLI takes as its own commands, as long as it does not come as a prompt.
_COMMANDS: Final = {JobKind.COMPACT: "/compact", JobKind.CLEAR: "/clear"}


class ClaudeRunner(AgentRunnerBase):
    """A session of Claude Code, by claude-agent-sdk."""

    def __init__(self, spec: SessionSpec, *, new_id: Callable[[], str] = lambda: str(uuid.uuid4())) -> None:
        # Before anyone connects to anything: no retry will change it.
        check_allowed(spec, os.geteuid())
        self._spec = spec
        self._new_id = new_id
        self._session_id: str | None = None
        self._cli: CliProcess | None = None
        self._jobs = Jobs()
        self._writer: asyncio.Task[None] | None = None
        # They belong to the process, and change with it when the session continues in a new one.
        self._readers: list[asyncio.Task[None]] = []
        # What the program had used when the running turn began; None if it does not say.
        self._before: Totals | None = None
        self._last: AssistantMessage | None = None
        # While something is done: whether that was to compact, and what the CLI said in place of the model.
        self._is_compacted, self._own_words = False, ""
        # Whether the effort differs from that of the session.
        self._has_other_effort = False
        self._deferrals = Deferrals(spec.deferrals) if spec.deferrals is not None else None
        # The id of the tool call that waits for an answer.
        self._deferred = ""
        self._quota = Quota()
        # Set when an API call of the running turn has ended.
        self._has_used = asyncio.Event()
        # Held while a message is reported: messages are reported one at a time.
        self._telling = asyncio.Lock()
        # Counts the turns that have ended.
        self._turns = 0

    def is_running(self) -> bool:
        return self._cli is not None

    @property
    def session_id(self) -> str | None:
        return self._session_id

    def look_for_program(self) -> None:
        self._find_cli()

    async def start(self, initial_prompt: str = "") -> None:
        if self._deferrals is not None:
            self._deferrals.prepare()
        cli = await self._resumed(self._spec.resume) or await self._begun()
        self._jobs = Jobs()
        if self._deferrals is not None and not self._deferrals.is_empty():
            # The session repeats its deferred call by itself, and a prompt would drop it.
            self._jobs.hold()
            asyncio.get_running_loop().call_later(REPEAT_TIMEOUT_S, self._release, self._jobs, self._turns)
        await self._use(cli)
        self._writer = asyncio.create_task(self._write())
        if initial_prompt:
            await self.send_prompt(initial_prompt)

    def _find_cli(self) -> Path:
        return find_cli(os.environ, self._spec.command)

    def _release(self, jobs: Jobs, turns: int) -> None:
        """Let prompts begin if the session did not repeat its call, which then is lost."""
        if self._jobs is jobs and self._turns == turns and jobs.current is None:
            jobs.end()

    async def _resumed(self, session_id: str) -> CliProcess | None:
        """Return a program with that session; None if the program does not have it."""
        if not session_id:
            return None
        try:
            cli = await self._connected(session_id, is_new=False)
        except ResultError:
            return None
        self._session_id = session_id
        return cli

    async def _begun(self) -> CliProcess:
        """Return a program with a new session."""
        session_id = self._new_id()
        if self._deferrals is not None:
            self._deferrals.forget()
        try:
            cli = await self._connected(session_id, is_new=True)
        except ResultError as error:
            raise TemporaryError(f"claude did not start: {error}") from None
        self._session_id = session_id
        return cli

    async def _connected(self, session_id: str, *, is_new: bool) -> CliProcess:
        program = await asyncio.to_thread(self._find_cli)
        cli = CliProcess(self._new_id())
        try:
            briefing = cli.text_file(self._spec.briefing)
            options = make_options(self._spec, program, briefing, cli.last_words.append, os.environ)
            options.session_id, options.resume = (session_id, None) if is_new else (None, session_id)
            await cli.connect(options)
        except BaseException:
            await cli.close()
            raise
        return cli

    async def _use(self, cli: CliProcess) -> None:
        """Read what this program says from now on."""
        # A session that was resumed may count what it spent before, or not, depending on how it ended.
        self._before = await read_totals(cli.client)
        self._cli, self._last, self._has_other_effort = cli, None, False
        self._readers = [asyncio.create_task(self._read(cli)), asyncio.create_task(self._measure(cli))]

    async def send_prompt(self, text: str, *, effort: Effort | None = None) -> None:
        self._jobs.add(Job(JobKind.PROMPT, text, effort))

    async def compact(self) -> None:
        self._jobs.add(Job(JobKind.COMPACT))

    async def clear(self) -> None:
        self._jobs.add(Job(JobKind.CLEAR))

    async def answer_deferred(self, call_id: str, *, allowed: bool, reason: str = "") -> None:
        if self._deferrals is None or not call_id or call_id != self._deferred:
            raise UnavailableError(f"the tool call '{call_id}' is not deferred")
        self._deferrals.answer(call_id, allowed=allowed, reason=reason)
        self._deferred = ""
        self._jobs.add(Job(JobKind.CONTINUE))

    async def ask_aside(self, prompt: str, *, background: str = "") -> SideAnswer:
        # A fork would run the call that waits for an answer.
        can_fork = self._deferrals is None or self._deferrals.is_empty()
        if self._session_id is not None and can_fork:
            answer = await ask_fork(self._spec, self._session_id, prompt)
            if answer is not None:
                return answer
        return await ask_once(self._spec, self._spec.briefing, side_prompt(background, prompt))

    async def interrupt(self) -> None:
        await self._is_interrupted()

    async def _is_interrupted(self) -> bool:
        """Interrupt the running turn. Return false if the program does not answer."""
        if self._cli is None or not self._cli.is_connected or not self._jobs.is_busy:
            return True
        try:
            async with asyncio.timeout(INTERRUPT_TIMEOUT_S):
                await self._cli.client.interrupt()
        except (ClaudeSDKError, TimeoutError):
            return False
        return True

    async def stop(self) -> None:
        if self._cli is None:
            return
        # Idle, the CLI ends at once; in a turn it is waited for and then killed with its tools. While it
        # waits for a permission, it takes the end of its input for a refusal and goes on unsupervised.
        is_interrupted = await self._is_interrupted()
        cli = self._let_go()
        if cli is None:
            return
        await self._cancel_tasks()
        if not is_interrupted:
            # The SDK would ask it twice more, and wait each time.
            await cli.end_all()
        await self._exited(cli, 0)

    def _let_go(self) -> CliProcess | None:
        """Return the program once: only one of `stop` and the end of the program ends the session."""
        cli, self._cli, self._session_id = self._cli, None, None
        return cli

    async def _write(self) -> None:
        """Do one job at a time: prompts that the CLI gets while it is busy would become one turn."""
        while True:
            job = await self._jobs.begin()
            self._is_compacted, self._own_words = False, ""
            try:
                await self._do(job)
            except ClaudeSDKError:
                # The CLI is gone; the reader notices, too, and knows how it ended.
                return
            except CultureError as error:
                await self._lost(1, str(error))
                return

    async def _do(self, job: Job) -> None:
        if job.kind is JobKind.CONTINUE:
            await self._continue()
            return
        assert self._cli is not None
        if self._deferrals is not None:
            # The CLI drops a deferred call when it gets something else to do.
            self._deferred = ""
            self._deferrals.forget()
        if job.effort is not None or self._has_other_effort:
            await set_effort(self._cli.client, job.effort)
            self._has_other_effort = job.effort is not None
        command = _COMMANDS.get(job.kind)
        await self._cli.send(command or job.text, is_command=command is not None)

    async def _continue(self) -> None:
        """Start the program again: it then repeats the deferred call, for which there is an answer now."""
        assert self._cli is not None
        await _cancel(*self._readers)
        await self._cli.close()
        cli = await self._resumed(self._session_id or "")
        if cli is None:
            raise TemporaryError("claude does not find the session whose tool call was deferred")
        await self._use(cli)

    async def _read(self, cli: CliProcess) -> None:
        """Read without pause, as the SDK holds only so much; what the CLI does unasked is read here, too."""
        code = 0
        try:
            async for message in cli.client.receive_messages():
                await self._received(message)
        except ProcessError as error:
            code = 1 if error.exit_code is None else error.exit_code
        except ClaudeSDKError as error:
            cli.last_words.append(str(error))
            code = 1
        await self._lost(code, wording.ended("claude", code, cli.last_words))

    async def _lost(self, code: int, why: str) -> None:
        """Report that the program ended by itself."""
        cli = self._let_go()
        if cli is None:
            return
        for job in self._jobs.give_up():
            await self._tell(job.failed(why))
        await self._exited(cli, code)

    async def _measure(self, cli: CliProcess) -> None:
        """Report what the running turn used, after each of its API calls but the last."""
        while True:
            await self._has_used.wait()
            self._has_used.clear()
            turn, totals = self._turns, await read_totals(cli.client)
            if totals is None or self._before is None:
                continue
            used = totals.since(self._before)
            async with self._telling:
                # The turn may have ended while the program was asked.
                is_running = turn == self._turns and not self._is_commanded()
                if is_running and self.on_message is not None:
                    await self.on_message(UsageReport(used.usage, used.cost_usd))

    async def _received(self, message: SdkMessage) -> None:
        match message:
            case AssistantMessage(model=messages.NO_MODEL):
                self._own_words = messages.text_of(message)
            case AssistantMessage():
                if message.parent_tool_use_id is None:
                    self._last = message
                await self._tell(messages.assistant(message))
                await self._tell_results(message)
            case UserMessage():
                await self._tell_results(message)
            case RateLimitEvent():
                for limit in rate_limits(message.rate_limit_info):
                    await self._tell(limit)
            case SystemMessage(subtype="init") if self._jobs.current is None:
                # A turn begins that nobody asked for; a prompt that came into it would have no result.
                self._jobs.hold()
            case SystemMessage(subtype="compact_boundary"):
                self._is_compacted = True
            case ResultMessage():
                # It changes when the conversation is cleared.
                self._session_id = message.session_id
                await self._tell_end(message)
            case ConversationResetMessage():
                # The CLI's totals begin anew.
                self._before, self._last = Totals(), None
            case _:
                return

    async def _tell_results(self, message: UserMessage | AssistantMessage) -> None:
        for result in messages.tool_results(message):
            await self._tell(result)
            self._has_used.set()

    async def _tell_end(self, message: ResultMessage) -> None:
        self._turns += 1
        ended = self._ended(message)
        if isinstance(ended, Result):
            self._note_deferral(ended)
        await self._tell(ended)

    def _ended(self, message: ResultMessage) -> Result | ContextChanged:
        before = self._before
        if not self._is_commanded():
            # What a summary of the context costs is counted with the turn after it.
            self._before = totals_of(message.total_cost_usd, message.model_usage)
        current = self._jobs.current
        if current is not None and current.kind is not JobKind.CONTINUE and not messages.is_asked(message):
            return messages.result(message, before, self._last, asked=False)
        match self._jobs.end():
            case Job(JobKind.COMPACT):
                # That it could not be done is no error for the CLI, which only says so.
                error = messages.error_of(message) or self._own_words or "nothing was compacted"
                return ContextChanged("compacted", "" if self._is_compacted else error)
            case Job(JobKind.CLEAR):
                return ContextChanged("cleared", messages.error_of(message))
            case job:
                return messages.result(message, before, self._last, asked=job is not None)

    def _is_commanded(self) -> bool:
        """Return whether the program compacts or clears its context."""
        return self._jobs.current is not None and self._jobs.current.kind in _COMMANDS

    def _note_deferral(self, result: Result) -> None:
        self._deferred = result.deferred.id if result.deferred is not None else ""
        if self._deferrals is not None:
            # Of several deferred calls in one reply only the last is repeated.
            self._deferrals.forget(but=self._deferred)

    async def _tell(self, message: Message) -> None:
        async with self._telling:
            for each in (*self._quota.before(message), message):
                if self.on_message is not None:
                    await self.on_message(each)

    async def _cancel_tasks(self) -> None:
        tasks = [*self._readers, *([self._writer] if self._writer is not None else [])]
        await _cancel(*(task for task in tasks if task is not asyncio.current_task()))

    async def _exited(self, cli: CliProcess, code: int) -> None:
        await self._cancel_tasks()
        await cli.close()
        if self.on_exit is not None:
            await self.on_exit(code)


async def _cancel(*tasks: "asyncio.Task[None]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
