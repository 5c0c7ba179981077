"""Which Claude Code program runs: the one that the SDK brings, else `claude` on PATH."""

import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import claude_agent_sdk

from culture.errors import UnavailableError

# Older ones do not know the mark for verbatim prompts and would run what stands in them.
OLDEST: Final = (2, 1, 248)

_BUNDLED: Final = Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude"
_INSTALL: Final = "npm install -g @anthropic-ai/claude-code"


def find_cli(env: Mapping[str, str], bundled: Path = _BUNDLED) -> Path:
    if bundled.is_file():
        return bundled
    found = shutil.which("claude", path=env.get("PATH"))
    if found is None:
        raise UnavailableError("the Claude Code program 'claude' is not on PATH", hint=_INSTALL)
    version = _version(found)
    if version < OLDEST:
        told = ".".join(map(str, version)) or "unknown"
        oldest = ".".join(map(str, OLDEST))
        raise UnavailableError(f"'{found}' has version {told}; at least {oldest} is needed", hint=_INSTALL)
    return Path(found)


def _version(cli: str) -> tuple[int, ...]:
    try:
        answer = subprocess.run([cli, "--version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(f"cannot run '{cli}': {error}", hint=_INSTALL) from None
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", answer.stdout)
    return tuple(map(int, found.groups())) if found else ()
