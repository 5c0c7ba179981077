"""culture-agent with a backend whose turns end only by an interrupt, and that says when they did."""

import os
import time
from pathlib import Path

from culture.agent.backends.table import BACKENDS
from culture.agent.contract import AgentRunnerBase, Effort, Result, SessionSpec
from culture.daemons.agent import main

# The file that gets a line when a turn begins, and one with the time when it ends.
LOG = "CULTURE_BENCH_LOG"


class Endless(AgentRunnerBase):
    def __init__(self, spec: SessionSpec) -> None: ...

    async def start(self, initial_prompt: str = "") -> None: ...

    async def stop(self) -> None: ...

    async def compact(self) -> None: ...

    async def clear(self) -> None: ...

    async def send_prompt(self, text: str, *, effort: Effort | None = None) -> None:
        _write("began")

    async def interrupt(self) -> None:
        assert self.on_message is not None
        await self.on_message(Result("interrupted"))
        _write(f"ended {time.time()}")

    def is_running(self) -> bool:
        return True

    @property
    def session_id(self) -> str | None:
        return None


def _write(line: str) -> None:
    with Path(os.environ[LOG]).open("a") as log:
        log.write(f"{line}\n")


if __name__ == "__main__":
    BACKENDS["claude"] = Endless
    main()
