"""The runner: one CLI process, one reader of everything it says, one writer of prompts."""

import asyncio
import contextlib
import os
import tempfile
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeSDKClient,
    ClaudeSDKError,
    ConversationResetMessage,
    ProcessError,
    ResultMessage,
)
from claude_agent_sdk import Message as SdkMessage

from culture.agent.backends.claude import messages
from culture.agent.backends.claude.cli import find_cli
from culture.agent.backends.claude.options import check_allowed, make_options
from culture.agent.contract import AgentRunnerBase, Message, SessionSpec
from culture.errors import TemporaryError

START_TIMEOUT_S: Final = 60.0
INTERRUPT_TIMEOUT_S: Final = 2.0
_LAST_WORDS: Final = 10


class ClaudeRunner(AgentRunnerBase):
    def __init__(self, spec: SessionSpec, *, new_id: Callable[[], str] = lambda: str(uuid.uuid4())) -> None:
        # Before anyone connects to anything: no retry will change it.
        check_allowed(spec, os.geteuid())
        self._spec = spec
        self._new_id = new_id
        self._session_id: str | None = None
        self._client: ClaudeSDKClient | None = None
        self._prompts: asyncio.Queue[str] = asyncio.Queue()
        self._tasks: list[asyncio.Task[None]] = []
        self._last_words: deque[str] = deque(maxlen=_LAST_WORDS)
        # Prompts that have no result yet, and whether the CLI is working on one of them.
        self._owed = 0
        self._is_free = asyncio.Event()
        self._cost_usd = 0.0
        # What the session needs as long as it runs.
        self._leftovers = contextlib.ExitStack()

    def is_running(self) -> bool:
        return self._client is not None

    @property
    def session_id(self) -> str | None:
        return self._session_id

    async def start(self, initial_prompt: str = "") -> None:
        cli = await asyncio.to_thread(find_cli, os.environ)
        session_id = self._new_id()
        with contextlib.ExitStack() as unless_started:
            briefing = unless_started.enter_context(_briefing_file(self._spec.briefing))
            options = make_options(self._spec, cli, session_id, briefing, self._last_words.append, os.environ)
            client = ClaudeSDKClient(options)
            try:
                async with asyncio.timeout(START_TIMEOUT_S):
                    await client.connect()
            except TimeoutError:
                raise TemporaryError(f"claude did not start within {START_TIMEOUT_S:.0f} s") from None
            except ClaudeSDKError as error:
                raise TemporaryError(f"claude did not start: {self._words(error)}") from None
            self._leftovers = unless_started.pop_all()
        self._client, self._session_id = client, session_id
        self._prompts = asyncio.Queue()
        self._owed, self._cost_usd = 0, 0.0
        self._is_free.set()
        self._tasks = [
            asyncio.create_task(self._read(client)),
            asyncio.create_task(self._write(client)),
        ]
        if initial_prompt:
            await self.send_prompt(initial_prompt)

    async def send_prompt(self, text: str) -> None:
        self._owed += 1
        self._prompts.put_nowait(text)

    async def stop(self) -> None:
        client = self._let_go()
        if client is None:
            return
        if not self._is_free.is_set():
            # Idle, the CLI ends at once; in a turn it would be waited for and then killed with its tools.
            with contextlib.suppress(ClaudeSDKError, TimeoutError):
                async with asyncio.timeout(INTERRUPT_TIMEOUT_S):
                    await client.interrupt()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await client.disconnect()
        await self._exited(0)

    def _let_go(self) -> ClaudeSDKClient | None:
        """Only one of `stop` and the end of the CLI gets to see the session off."""
        client, self._client, self._session_id = self._client, None, None
        return client

    async def _write(self, client: ClaudeSDKClient) -> None:
        """One at a time: prompts that the CLI gets while it is busy become one turn with one result."""
        while True:
            prompt = await self._prompts.get()
            await self._is_free.wait()
            self._is_free.clear()
            try:
                await client.query(prompt)
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
        for _ in range(self._owed):
            await self._tell(messages.crash(code, self._last_words))
        self._owed = 0
        await client.disconnect()
        await self._exited(code)

    async def _received(self, message: SdkMessage) -> None:
        match message:
            case AssistantMessage():
                await self._tell(messages.assistant(message))
            case ResultMessage():
                told = messages.result(message, self._cost_usd)
                self._cost_usd = message.total_cost_usd or self._cost_usd
                if told["asked"]:
                    self._owed -= 1
                    self._is_free.set()
                await self._tell(told)
            case ConversationResetMessage():
                # The CLI's totals begin anew.
                self._cost_usd = 0.0
            case _:
                return

    async def _tell(self, message: Message) -> None:
        if self.on_message is not None:
            await self.on_message(message)

    async def _exited(self, code: int) -> None:
        self._leftovers.close()
        if self.on_exit is not None:
            await self.on_exit(code)

    def _words(self, error: ClaudeSDKError) -> str:
        """The CLI says on its standard error what the SDK does not know."""
        return " ".join(self._last_words) or str(error)


@contextlib.contextmanager
def _briefing_file(text: str) -> Iterator[Path]:
    """Readable by our own user alone, and gone afterwards."""
    with tempfile.NamedTemporaryFile("w", prefix="culture-briefing-", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        yield Path(file.name)
