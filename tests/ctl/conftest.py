"""Programs that run in the foreground while a test looks at what they say and what they leave behind."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Start = Callable[..., "Running"]


class Running:
    """A started program. Its output goes to a file, so that it never waits for the test."""

    def __init__(self, command: list[str], out: Path, env: dict[str, str]) -> None:
        self._out = out
        with out.open("wb") as stream:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT, env=env
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def said(self) -> str:
        return self._out.read_text(encoding="utf-8")

    @property
    def lines(self) -> list[str]:
        """What it and its children said, without time, host and pid."""
        return [line.partition("]: ")[2] or line for line in self.said.splitlines()]

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def wait(self, within_s: float = 30.0) -> int:
        return self._process.wait(within_s)

    def end(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(20)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """`start(command, NAME=value…)`; what still runs after the test is ended."""
    running: list[Running] = []

    def start(command: list[str], **env: str) -> Running:
        running.append(Running(command, tmp_path / f"out-{len(running)}", {**os.environ, **env}))
        return running[-1]

    yield start
    for each in running:
        each.end()


@pytest.fixture
def culturectl() -> str:
    return str(Path(sys.executable).parent / "culturectl")


@pytest.fixture
def is_running() -> Callable[[int], bool]:
    def is_running(pid: int) -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except (FileNotFoundError, ProcessLookupError):
            return False

    return is_running
