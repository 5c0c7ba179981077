"""One process of the Claude Code program, with its client and everything that has to go with it."""

import asyncio
import contextlib
import tempfile
from collections import deque
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ClaudeSDKError, ResultError

from culture.agent.backends.program import MARK, end_marked
from culture.errors import TemporaryError

START_TIMEOUT_S: Final = 60.0
_LAST_WORDS: Final = 10


class CliProcess:
    """A process of the program. Every process that it starts has the mark in its environment."""

    def __init__(self, mark: str) -> None:
        self.mark = mark
        # The last lines of its standard error.
        self.last_words: deque[str] = deque(maxlen=_LAST_WORDS)
        self._client: ClaudeSDKClient | None = None
        self._files = contextlib.ExitStack()

    @property
    def is_connected(self) -> bool:
        """Return whether `connect` succeeded and `close` was not called yet."""
        return self._client is not None

    @property
    def client(self) -> ClaudeSDKClient:
        """Return the client of a process that is connected."""
        assert self._client is not None
        return self._client

    def text_file(self, text: str) -> Path:
        """Write a text to a file that only our own user can read, and that is removed by `close`."""
        return self._files.enter_context(_text_file(text))

    async def connect(self, options: ClaudeAgentOptions) -> None:
        """Start the program. Raise TemporaryError if it does not start.

        Raises ResultError if it starts and refuses the session that it is to resume.
        """
        options.env[MARK] = self.mark
        client = ClaudeSDKClient(options)
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                await client.connect()
        except TimeoutError:
            raise TemporaryError(f"claude did not start within {START_TIMEOUT_S:.0f} s") from None
        except ResultError:
            raise
        except ClaudeSDKError as error:
            # The program says on its standard error what the SDK does not know.
            said = " ".join(self.last_words) or str(error)
            raise TemporaryError(f"claude did not start: {said}") from None
        self._client = client

    async def send(self, text: str, *, is_command: bool = False) -> None:
        """Send a message of the user. Raise ClaudeSDKError if the program is gone.

        Messages come from IRC: unless it is a command, `/compact` and `@/etc/passwd` in it are only text.
        """
        message = {"type": "user", "message": {"role": "user", "content": text}, "parent_tool_use_id": None}
        await self.client.query(_single(message if is_command else {**message, "client_composed": True}))

    async def end_all(self) -> None:
        """Kill the program and everything that it started."""
        await end_marked(self.mark)

    async def close(self) -> None:
        """End the program, what its tools left behind, and the files that it read."""
        client, self._client = self._client, None
        try:
            if client is not None:
                await client.disconnect()
        finally:
            await end_marked(self.mark)
            self._files.close()


@contextlib.contextmanager
def _text_file(text: str) -> Iterator[Path]:
    with tempfile.NamedTemporaryFile("w", prefix="culture-briefing-", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        yield Path(file.name)


async def _single(message: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    yield message
