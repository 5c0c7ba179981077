"""A runner that is watched in a test: what it told, what it asked, and which processes are its own."""

import contextlib
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from culture.agent.backends.table import BACKENDS
from culture.agent.contract import (
    AgentRunnerBase,
    Assistant,
    Block,
    ContextChanged,
    Message,
    PermissionRequest,
    Result,
    SessionSpec,
    Text,
    ToolResult,
    ToolUse,
)
from support.backends import Row

# The fixture of this name.
Eventually = Callable[..., Awaitable[Any]]

# What the model does.
OK = "rules: [{answer: [{text: ok}]}]"
# A tool that runs until somebody ends it.
ENDLESS = "rules: [{after_tool: any, answer: [{text: done}]}, {answer: [{run: [tail, -f, /dev/null]}]}]"
STALLED = "rules: [{answer: [{text: half}, {stall: true}]}]"


class Watched:
    """A runner, and everything that it told."""

    def __init__(self, row: Row, spec: SessionSpec) -> None:
        self.runner: AgentRunnerBase = BACKENDS[row.agent](spec)
        self.messages: list[Message] = []
        self.exits: list[int] = []
        self.runner.on_message = self._message
        self.runner.on_exit = self._exit

    async def _message(self, message: Message) -> None:
        self.messages.append(message)

    async def _exit(self, code: int) -> None:
        self.exits.append(code)

    def results(self) -> list[Result]:
        return [message for message in self.messages if isinstance(message, Result)]

    def contexts(self) -> list[ContextChanged]:
        return [message for message in self.messages if isinstance(message, ContextChanged)]

    def tool_results(self) -> list[ToolResult]:
        return [message for message in self.messages if isinstance(message, ToolResult)]

    def texts(self) -> list[str]:
        return [block.text for block in self._blocks() if isinstance(block, Text)]

    def uses(self) -> list[ToolUse]:
        return [block for block in self._blocks() if isinstance(block, ToolUse)]

    def _blocks(self) -> list[Block]:
        said = [message for message in self.messages if isinstance(message, Assistant)]
        return [block for message in said for block in message.content]


class Judge:
    """Keeps what it was asked about, and lets it pass unless it is told to refuse."""

    REFUSAL = "the judge of this test refuses"

    def __init__(self) -> None:
        self.asked: list[PermissionRequest] = []
        self.refuses = False

    async def __call__(self, request: PermissionRequest) -> tuple[bool, str]:
        self.asked.append(request)
        return (False, self.REFUSAL) if self.refuses else (True, "")


def processes(mark: str) -> dict[int, str]:
    """Every process that has this in its environment, with its command line."""
    found = {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdecimal() and mark.encode() in (entry / "environ").read_bytes():
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    found.pop(os.getpid(), None)
    return found


def program_of(mark: str) -> int:
    """The backend's own program: the child of this process."""
    [pid] = [pid for pid in processes(mark) if _parent_of(pid) == os.getpid()]
    return pid


def _parent_of(pid: int) -> int | None:
    """None: it has ended since it was seen."""
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return None


async def runs(mark: str, words: str, eventually: Eventually) -> int:
    """The process whose command line has these words, once there is one."""
    found: list[int] = await eventually(
        lambda: [pid for pid, command in processes(mark).items() if words in command], within_s=30
    )
    return found[-1]


async def ends(agent: Watched, eventually: Eventually, turns: int = 1) -> list[Result]:
    """The results, as soon as there are so many."""
    await eventually(lambda: len(agent.results()) >= turns, within_s=60)
    return agent.results()


def told(model: Any) -> str:
    """Everything that the model was told by the last request that came from a turn."""
    asked = [each.request for each in model.server.asked if not each.is_aside]
    return json.dumps(asked[-1].body, ensure_ascii=False)
