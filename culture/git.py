"""Run git on a bare repository, without hooks, a shell, or the configuration of a user or the system."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from culture.errors import UnavailableError

TIMEOUT_S: Final = 60.0

_SETTINGS: Final = (
    "core.hooksPath=/dev/null",
    # A commit that was reported survives a power cut.
    "core.fsync=all",
    "core.quotePath=true",
    "gc.autoDetach=false",
    "log.showSignature=false",
    "grep.fallbackToNoIndex=false",
)


class GitError(UnavailableError):
    """Git failed; the message is what it wrote to standard error."""

    def __init__(self, command: str, status: int, stderr: str, output: bytes = b"") -> None:
        super().__init__(f"git {command}: {stderr.strip() or f'exit status {status}'}")
        self.status = status
        # Some commands answer with a status and an output, such as merge-tree.
        self.output = output


class Git:
    """Runs git commands on one bare repository."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    async def run(
        self, command: str, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None
    ) -> bytes:
        """Return the standard output of a git command, or raise GitError."""
        settings = [word for setting in _SETTINGS for word in ("-c", setting)]
        output, errors, status = await _run(
            ["git", "--no-replace-objects", *settings, command, *arguments],
            stdin,
            {**_environment(self.directory), **(env or {})},
        )
        if status:
            raise GitError(command, status, errors.decode(errors="replace"), output)
        return output

    async def line(
        self, command: str, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None
    ) -> str:
        """Return the one line that a git command writes."""
        return (await self.run(command, *arguments, stdin=stdin, env=env)).decode().strip()


def _environment(directory: Path) -> dict[str, str]:
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "GIT_DIR": str(directory),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        # Names of pages and files are paths, never patterns.
        "GIT_LITERAL_PATHSPECS": "1",
        "LC_ALL": "C.UTF-8",
    }


async def _run(command: Sequence[str], stdin: bytes, env: Mapping[str, str]) -> tuple[bytes, bytes, int]:
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=env,
            cwd="/",
        )
    except FileNotFoundError:
        raise UnavailableError("git is not installed", hint="apt install git") from None
    try:
        async with asyncio.timeout(TIMEOUT_S):
            output, errors = await process.communicate(stdin)
    except TimeoutError:
        raise UnavailableError(f"git did not finish within {TIMEOUT_S:.0f} s") from None
    finally:
        if process.returncode is None:
            # On SIGTERM git removes its lock files.
            process.terminate()
            await process.wait()
    return output, errors, process.returncode or 0
