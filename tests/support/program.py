"""A program of ours as a process, for tests that run what people run."""

import asyncio
import os
import re
import subprocess
import sys
import time
from pathlib import Path

DEADLINE_S = 40.0


class Program:
    """What it says goes to a file, to be waited for."""

    def __init__(self, module: str, *options: str, home: Path, env: dict[str, str] | None = None) -> None:
        self._log = home / f"{module.rpartition('.')[2]}.{time.monotonic_ns()}.log"
        own = {"CULTURE_HOME": str(home), "HOME": str(home), "PATH": os.environ["PATH"]}
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", module, *options],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=home, env={**own, **(env or {})},
            )  # fmt: skip

    def said(self) -> str:
        return self._log.read_text()

    async def says(self, pattern: str) -> re.Match[str]:
        deadline = time.monotonic() + DEADLINE_S
        while not (found := re.search(pattern, self.said())):
            assert self.process.poll() is None, f"it ended with {self.process.returncode}: {self.said()}"
            assert time.monotonic() < deadline, f"it never said '{pattern}': {self.said()}"
            await asyncio.sleep(0.01)
        return found

    async def ends(self) -> int:
        return await asyncio.to_thread(self.process.wait, DEADLINE_S)

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(DEADLINE_S)
        finally:
            self.process.kill()
            self.process.wait()
