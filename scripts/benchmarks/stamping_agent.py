"""culture-agent with a backend that notes when it is asked, and is done at once: the daemon without a CLI."""

import os
import socket
import time

from culture.agent.backends.table import BACKENDS
from culture.agent.contract import AgentRunnerBase, Effort, Result, SessionSpec
from culture.daemons.agent import main

# Where each prompt is told to: the name of a unix datagram socket.
STAMPS = "CULTURE_BENCH_STAMPS"


class Stamps(AgentRunnerBase):
    def __init__(self, spec: SessionSpec) -> None:
        self._to = os.environ[STAMPS]
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)

    async def start(self, initial_prompt: str = "") -> None: ...

    async def stop(self) -> None:
        self._socket.close()

    async def interrupt(self) -> None: ...

    async def compact(self) -> None: ...

    async def clear(self) -> None: ...

    async def send_prompt(self, text: str, *, effort: Effort | None = None) -> None:
        # Of a clock that all processes share.
        self._socket.sendto(f"{time.perf_counter():.9f}".encode(), self._to)
        assert self.on_message is not None
        await self.on_message(Result())

    def is_running(self) -> bool:
        return True

    @property
    def session_id(self) -> str | None:
        return None


BACKENDS["claude"] = Stamps
main()
