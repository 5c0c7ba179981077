"""culture-agent with a backend that plays a long script of steps and reports what it would have used."""

import asyncio
import os

from culture.agent.backends.table import BACKENDS
from culture.agent.contract import (
    AgentRunnerBase,
    Assistant,
    Effort,
    Result,
    SessionSpec,
    Text,
    ToolResult,
    ToolUse,
    Usage,
    UsageReport,
)
from culture.daemons.agent import main

# How many steps a task has.
STEPS = "CULTURE_BENCH_STEPS"
# What Claude Code sends with each call besides the conversation.
OVERHEAD_TOKENS = 21_100
RESULT = "module.c: 214 lines, 3 functions changed, all tests pass; see the log for the rest\n" * 25


class Stepping(AgentRunnerBase):
    def __init__(self, spec: SessionSpec) -> None:
        self._task: asyncio.Task[None] | None = None

    async def start(self, initial_prompt: str = "") -> None: ...

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def interrupt(self) -> None: ...

    async def compact(self) -> None: ...

    async def clear(self) -> None: ...

    async def send_prompt(self, text: str, *, effort: Effort | None = None) -> None:
        self._task = asyncio.create_task(self._work())

    async def _work(self) -> None:
        assert self.on_message is not None
        usage, context = Usage(), OVERHEAD_TOKENS
        for number in range(int(os.environ[STEPS])):
            call = ToolUse(
                str(number), "Bash", {"command": f"sed -n 1,200p src/module{number}.c && make check"}
            )
            await self.on_message(Assistant("m", (Text(f"Part {number}."), call)))
            await self.on_message(ToolResult(call.id, f"{number}: {RESULT}"))
            context += (len(RESULT) + 100) // 4
            usage += Usage(context, context - 500, 100)
            await self.on_message(UsageReport(usage))
            # A model takes its time, and so does the judge.
            await asyncio.sleep(0.02)
        tokens = usage.input_tokens + usage.output_tokens
        await self.on_message(Assistant("m", (Text(f"done tokens={tokens} "),)))
        await self.on_message(Result(usage=usage))

    def is_running(self) -> bool:
        return True

    @property
    def session_id(self) -> str | None:
        return None


BACKENDS["claude"] = Stepping
main()
