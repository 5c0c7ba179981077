"""Find, kill and reap all descendants, including those that left their parent or their session."""

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
    """Become the subreaper: orphaned descendants become children of this process instead of init."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


def parent_pids() -> dict[int, int]:
    """Return the parent of every process, without zombies."""
    found = {}
    for entry in PROC.iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):
                # proc(5): pid (command) state ppid …; the command may contain any character, also ')'.
                state, parent = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
                if state != "Z":
                    found[int(entry.name)] = int(parent)
    return found


def descendants(ancestor: int, parent_of: Mapping[int, int]) -> set[int]:
    """Return all descendants of a process."""
    found: set[int] = set()
    while more := {pid for pid, parent in parent_of.items() if parent in found | {ancestor}} - found:
        found |= more
    return found


def own_descendants() -> set[int]:
    """Return all descendants of this process."""
    return descendants(os.getpid(), parent_pids())


def descendants_with_env(name: str, value: str) -> set[int]:
    """Return the descendants of this process that have this variable in their environment."""
    setting = os.fsencode(f"{name}={value}")
    return {pid for pid in own_descendants() if setting in _environment(pid)}


def _environment(pid: int) -> list[bytes]:
    try:
        return (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return []


def kill(pids: Iterable[int]) -> None:
    """Send SIGKILL to processes."""
    for pid in pids:
        # The process may have ended, or belong to another user (a tool that used sudo).
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


async def kill_until_gone(find: Callable[[], set[int]], *, within_s: float = 5.0) -> set[int]:
    """Kill what `find` returns until it returns nothing, and return what is left after `within_s`.

    Once is not enough: a process may start another one meanwhile.
    """
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            while found := find():
                kill(found)
                await asyncio.sleep(0.01)
    return find()


class Reaper:
    """Reaps every child, including adopted ones, and completes the futures of watched ones."""

    def __init__(self) -> None:
        self._watched: dict[int, tuple[subprocess.Popen[bytes], asyncio.Future[int]]] = {}

    def watch(self, process: subprocess.Popen[bytes]) -> asyncio.Future[int]:
        """Return a future for the exit status, or minus the number of the signal that killed the process."""
        exited: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._watched[process.pid] = (process, exited)
        return exited

    def reap(self) -> None:
        """Reap all ended children. Call this on SIGCHLD, which may stand for several."""
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
