"""Processes of ours: all that descend from us, also those that left their parent and their session."""

import asyncio
import contextlib
import ctypes
import os
import signal
import subprocess
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36  # prctl(2)
PROC = Path("/proc")


def adopt_orphans() -> None:
    """From now on a descendant whose parent ends becomes our child instead of init's."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


def parents() -> dict[int, int]:
    """The parent of every process that runs; those that ended and wait to be collected are left out."""
    found = {}
    for entry in PROC.iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):
                # proc(5): pid (command) state ppid …, and the command may hold anything, ')' too.
                state, parent = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
                if state != "Z":
                    found[int(entry.name)] = int(parent)
    return found


def below(ancestor: int, parent_of: Mapping[int, int]) -> set[int]:
    """Everything that descends from one process."""
    found: set[int] = set()
    while more := {pid for pid, parent in parent_of.items() if parent in found | {ancestor}} - found:
        found |= more
    return found


def ours() -> set[int]:
    return below(os.getpid(), parents())


def ours_with(name: str, value: str) -> set[int]:
    """Those of ours that were started with this in their environment, or by one that was."""
    setting = os.fsencode(f"{name}={value}")
    return {pid for pid in ours() if setting in _environment(pid)}


def _environment(pid: int) -> list[bytes]:
    try:
        return (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return []


def kill(pids: Iterable[int]) -> None:
    for pid in pids:
        # It may be gone by now, or another user's (a tool that used sudo).
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


async def end_all(find: Callable[[], set[int]], *, within_s: float = 5.0) -> set[int]:
    """Kill until nothing is found: a process may have started another while we looked. What is left."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            while found := find():
                kill(found)
                await asyncio.sleep(0.01)
    return find()


class Reaper:
    """Collects every child that ended, adopted ones too, and tells whoever waits for it."""

    def __init__(self) -> None:
        self._watched: dict[int, tuple[subprocess.Popen[bytes], asyncio.Future[int]]] = {}

    def watch(self, process: subprocess.Popen[bytes]) -> asyncio.Future[int]:
        """Will hold the exit status, or minus the number of the signal that ended the process."""
        exited: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._watched[process.pid] = (process, exited)
        return exited

    def reap(self) -> None:
        """To be called on SIGCHLD, which may stand for more than one child."""
        with contextlib.suppress(ChildProcessError):
            while ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                self._collect(ended.si_pid)

    def _collect(self, pid: int) -> None:
        if pid not in self._watched:
            os.waitpid(pid, 0)
            return
        process, exited = self._watched.pop(pid)
        status = process.wait()
        if not exited.done():
            exited.set_result(status)
