"""Run a backend's program on pipes, and end it with every process that it started."""

import asyncio
import contextlib
import errno
import os
import signal
import uuid
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Self

from culture.errors import TemporaryError, UnavailableError

# An agent may put a whole file into one line.
LINE_BYTES: Final = 16 * 1024 * 1024
GRACE_S: Final = 1.0
MARK: Final = "CULTURE_SESSION"
_LAST_WORDS: Final = 10
_LAST_WORDS_BYTES: Final = 1000
# The program is just being upgraded, or the host has no room for another process.
_FOR_NOW: Final = (errno.ETXTBSY, errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
_LOOK_S: Final = 0.01
_LOOKS: Final = 500
# How often we look again for the sake of those that may turn out to be ours.
_LOOKS_IN_VAIN: Final = 20


class Program:
    """A program in a session of its own. A mark in the environment finds the processes that it starts.

    The process group is not enough: shells, daemons and tools make groups of their own, and outlive the
    program that was to look after them.
    """

    def __init__(self, process: asyncio.subprocess.Process, mark: str) -> None:
        self._process = process
        self.mark = mark
        self.last_words: deque[str] = deque(maxlen=_LAST_WORDS)
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def start(cls, command: Sequence[str], directory: Path, env: Mapping[str, str]) -> Self:
        mark = str(uuid.uuid4())
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                cwd=directory,
                env={**env, MARK: mark},
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
                limit=LINE_BYTES,
            )
        except OSError as error:
            kind = TemporaryError if error.errno in _FOR_NOW else UnavailableError
            raise kind(f"cannot start '{command[0]}': {error.strerror}") from None
        return cls(process, mark)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def reader(self) -> asyncio.StreamReader:
        assert self._process.stdout is not None
        return self._process.stdout

    @property
    def writer(self) -> asyncio.StreamWriter:
        assert self._process.stdin is not None
        return self._process.stdin

    async def wait(self) -> int:
        """Wait for the end of it and all that it started. Return its exit status, negative for a signal."""
        await _has_exited(self._process.pid)
        await end_marked(self.mark)
        # Before that, it would wait for whoever else holds the pipes.
        code = await self._process.wait()
        await asyncio.wait([self._listening])
        self.writer.close()
        return code

    async def end(self) -> int:
        """Ask it to go, by the end of its input, then by SIGTERM; then no longer ask."""
        for ask in (self.writer.close, self._terminate):
            ask()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(GRACE_S):
                    await _has_exited(self._process.pid)
                    break
        await end_marked(self.mark)
        return await self.wait()

    def _terminate(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGTERM)

    async def _listen(self) -> None:
        """Keep the last lines of its standard error: often only they say why it ended."""
        assert self._process.stderr is not None
        while piece := await self._process.stderr.read(_LAST_WORDS_BYTES):
            words = (line.strip() for line in piece.decode(errors="replace").splitlines())
            self.last_words.extend(filter(None, words))


async def end_marked(mark: str) -> None:
    """Kill every process that carries the mark, until none is left."""
    looks_in_vain = 0
    for _ in range(_LOOKS):
        pids, is_sure = await asyncio.to_thread(_marked, f"{MARK}={mark}".encode())
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        looks_in_vain = 0 if pids else looks_in_vain + 1
        if not pids and (is_sure or looks_in_vain == _LOOKS_IN_VAIN):
            return
        await asyncio.sleep(_LOOK_S)
    raise TemporaryError(f"processes {pids} of the backend do not end")


def _marked(mark: bytes) -> tuple[list[int], bool]:
    """Return the processes with the mark, and whether the environment of all others could be read."""
    pids, is_sure = [], True
    for process in Path("/proc").iterdir():
        if not process.name.isdecimal():
            continue
        try:
            environment = (process / "environ").read_bytes()
            if mark in environment.split(b"\0"):
                pids.append(int(process.name))
            elif not environment and _is_becoming(process):
                is_sure = False
        except OSError:
            # It has just ended, or is none of our business.
            continue
    return pids, is_sure


def _is_becoming(process: Path) -> bool:
    """Return whether a process without an environment may be in the middle of execve(2)."""
    state, parent = (process / "stat").read_text().rpartition(")")[2].split()[:2]
    # Neither a zombie nor one of the kernel's threads, which are children of kthreadd.
    return state not in "ZX" and parent not in ("0", "2")


async def _has_exited(pid: int) -> None:
    """Wait for the end of a process by its pidfd: asyncio also waits for everybody who holds its pipes."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    exited = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(fd, exited.set)
    try:
        await exited.wait()
    finally:
        loop.remove_reader(fd)
        os.close(fd)
