"""The runner: one CLI process, one reader of everything it says, one writer of what it is asked."""

import asyncio
import contextlib
import os
import tempfile
import uuid
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, Final

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    ClaudeSDKError,
    ConversationResetMessage,
    ProcessError,
    ResultError,
    ResultMessage,
    SystemMessage,
    UserMessage,
)
from claude_agent_sdk import Message as SdkMessage

from culture.agent.backends import wording
from culture.agent.backends.claude import messages
from culture.agent.backends.claude.cli import find_cli
from culture.agent.backends.claude.options import check_allowed, make_options
from culture.agent.backends.jobs import Job, JobKind, Jobs
from culture.agent.backends.program import MARK, end_marked
from culture.agent.contract import AgentRunnerBase, ContextChanged, Effort, Message, Result, SessionSpec
from culture.errors import TemporaryError

START_TIMEOUT_S: Final = 60.0
INTERRUPT_TIMEOUT_S: Final = 2.0
_LAST_WORDS: Final = 10
# What the CLI takes as its own commands, as long as it does not come as a prompt.
_COMMANDS: Final = {JobKind.COMPACT: "/compact", JobKind.CLEAR: "/clear"}


class ClaudeRunner(AgentRunnerBase):
    def __init__(self, spec: SessionSpec, *, new_id: Callable[[], str] = lambda: str(uuid.uuid4())) -> None:
        # Before anyone connects to anything: no retry will change it.
        check_allowed(spec, os.geteuid())
        self._spec = spec
        self._new_id = new_id
        self._session_id: str | None = None
        self._client: ClaudeSDKClient | None = None
        self._jobs = Jobs()
        self._tasks: list[asyncio.Task[None]] = []
        self._last_words: deque[str] = deque(maxlen=_LAST_WORDS)
        # The CLI's total so far. Of a session that goes on it is not known before its first turn ends.
        self._cost_usd: float | None = None
        self._last: AssistantMessage | None = None
        # While something is done: whether that was to compact, and what the CLI said in place of the model.
        self._is_compacted, self._own_words = False, ""
        # What all that the CLI starts has in its environment.
        self._mark = ""
        # What the session needs as long as it runs.
        self._leftovers = contextlib.ExitStack()

    def is_running(self) -> bool:
        return self._client is not None

    @property
    def session_id(self) -> str | None:
        return self._session_id

    def look_for_program(self) -> None:
        self._find_cli()

    async def start(self, initial_prompt: str = "") -> None:
        cli = await asyncio.to_thread(self._find_cli)
        self._mark = self._new_id()
        self._last_words.clear()
        with contextlib.ExitStack() as unless_started:
            briefing = unless_started.enter_context(_briefing_file(self._spec.briefing))
            options = make_options(self._spec, cli, briefing, self._last_words.append, os.environ)
            options.env[MARK] = self._mark
            try:
                client = await self._resumed(options) or await self._begun(options)
            except BaseException:
                await end_marked(self._mark)
                raise
            self._leftovers = unless_started.pop_all()
        self._jobs, self._client, self._last = Jobs(), client, None
        self._tasks = [
            asyncio.create_task(self._read(client)),
            asyncio.create_task(self._write(client)),
        ]
        if initial_prompt:
            await self.send_prompt(initial_prompt)

    def _find_cli(self) -> Path:
        return find_cli(os.environ, self._spec.command)

    async def _resumed(self, options: ClaudeAgentOptions) -> ClaudeSDKClient | None:
        """None if there is nothing to go on with, or the CLI does not know it."""
        if not self._spec.resume:
            return None
        options.resume = self._spec.resume
        try:
            client = await self._connected(options)
        except ResultError:
            options.resume = None
            self._last_words.clear()
            return None
        self._session_id, self._cost_usd = self._spec.resume, None
        return client

    async def _begun(self, options: ClaudeAgentOptions) -> ClaudeSDKClient:
        options.session_id = self._new_id()
        try:
            client = await self._connected(options)
        except ClaudeSDKError as error:
            raise TemporaryError(f"claude did not start: {self._words(error)}") from None
        self._session_id, self._cost_usd = options.session_id, 0.0
        return client

    async def _connected(self, options: ClaudeAgentOptions) -> ClaudeSDKClient:
        client = ClaudeSDKClient(options)
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                await client.connect()
        except TimeoutError:
            raise TemporaryError(f"claude did not start within {START_TIMEOUT_S:.0f} s") from None
        return client

    async def send_prompt(self, text: str, *, effort: Effort | None = None) -> None:
        self._jobs.add(Job(JobKind.PROMPT, text))

    async def compact(self) -> None:
        self._jobs.add(Job(JobKind.COMPACT))

    async def clear(self) -> None:
        self._jobs.add(Job(JobKind.CLEAR))

    async def interrupt(self) -> None:
        await self._is_interrupted()

    async def _is_interrupted(self) -> bool:
        """False if the CLI does not answer."""
        if self._client is None or not self._jobs.is_busy:
            return True
        try:
            async with asyncio.timeout(INTERRUPT_TIMEOUT_S):
                await self._client.interrupt()
        except (ClaudeSDKError, TimeoutError):
            return False
        return True

    async def stop(self) -> None:
        if self._client is None:
            return
        # Idle, the CLI ends at once; in a turn it would be waited for and then killed with its tools.
        is_interrupted = await self._is_interrupted()
        client = self._let_go()
        if client is None:
            return
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if not is_interrupted:
            # The SDK would ask it twice more, and wait each time.
            await end_marked(self._mark)
        await self._exited(client, 0)

    def _let_go(self) -> ClaudeSDKClient | None:
        """Only one of `stop` and the end of the CLI gets to see the session off."""
        client, self._client, self._session_id = self._client, None, None
        return client

    async def _write(self, client: ClaudeSDKClient) -> None:
        """One at a time: prompts that the CLI gets while it is busy become one turn with one result."""
        while True:
            job = await self._jobs.begin()
            self._is_compacted, self._own_words = False, ""
            try:
                await client.query(_alone(_user_message(job)))
            except ClaudeSDKError:
                # The CLI is gone; the reader notices, too, and knows how it ended.
                return

    async def _read(self, client: ClaudeSDKClient) -> None:
        """Reads without pause, as the SDK holds only so much; what the CLI does unasked is read here, too."""
        code = 0
        try:
            async for message in client.receive_messages():
                await self._received(message)
        except ProcessError as error:
            code = 1 if error.exit_code is None else error.exit_code
        except ClaudeSDKError as error:
            self._last_words.append(str(error))
            code = 1
        if self._let_go() is None:
            return
        why = wording.ended("claude", code, self._last_words)
        for job in self._jobs.give_up():
            await self._tell(job.failed(why))
        await self._exited(client, code)

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
            case SystemMessage(subtype="init") if self._jobs.current is None:
                # A turn begins that nobody asked for; a prompt that came into it would have no result.
                self._jobs.hold()
            case SystemMessage(subtype="compact_boundary"):
                self._is_compacted = True
            case ResultMessage():
                # It changes when the conversation is cleared.
                self._session_id = message.session_id
                await self._tell(self._ended(message))
            case ConversationResetMessage():
                # The CLI's totals begin anew.
                self._cost_usd, self._last = 0.0, None
            case _:
                return

    async def _tell_results(self, message: UserMessage | AssistantMessage) -> None:
        for result in messages.tool_results(message):
            await self._tell(result)

    def _ended(self, message: ResultMessage) -> Result | ContextChanged:
        before, self._cost_usd = self._cost_usd, message.total_cost_usd
        if not messages.is_asked(message) and self._jobs.current is not None:
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

    async def _tell(self, message: Message) -> None:
        if self.on_message is not None:
            await self.on_message(message)

    async def _exited(self, client: ClaudeSDKClient, code: int) -> None:
        await client.disconnect()
        # A CLI that was killed leaves behind what its tools started.
        await end_marked(self._mark)
        self._leftovers.close()
        if self.on_exit is not None:
            await self.on_exit(code)

    def _words(self, error: ClaudeSDKError) -> str:
        """The CLI says on its standard error what the SDK does not know."""
        return " ".join(self._last_words) or str(error)


def _user_message(job: Job) -> dict[str, Any]:
    text = _COMMANDS.get(job.kind, job.text)
    message = {"type": "user", "message": {"role": "user", "content": text}, "parent_tool_use_id": None}
    # Prompts come from IRC: `/compact` and `@/etc/passwd` in them are text.
    return {**message, "client_composed": True} if job.kind is JobKind.PROMPT else message


async def _alone(message: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    yield message


@contextlib.contextmanager
def _briefing_file(text: str) -> Iterator[Path]:
    """Readable by our own user alone, and gone afterwards."""
    with tempfile.NamedTemporaryFile("w", prefix="culture-briefing-", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        yield Path(file.name)
