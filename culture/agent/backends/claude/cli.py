"""Find the Claude Code program: the configured one, else the SDK's own, else `claude` on PATH."""

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import claude_agent_sdk

from culture.agent.backends.programs import INSTALL_CLAUDE
from culture.errors import TemporaryError, UnavailableError

# Older ones do not know the mark for verbatim prompts and would run what stands in them.
OLDEST: Final = (2, 1, 248)

_BUNDLED: Final = Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude"


def find_cli(env: Mapping[str, str], command: Sequence[str] = (), bundled: Path = _BUNDLED) -> Path:
    if len(command) > 1:
        raise UnavailableError(f"claude takes no options in its command, found '{command[1]}'")
    if not command and bundled.is_file():
        return bundled
    name = command[0] if command else "claude"
    found = shutil.which(name, path=env.get("PATH"))
    if found is None:
        raise UnavailableError(f"the Claude Code program '{name}' is not on PATH", hint=INSTALL_CLAUDE)
    version = _version(found)
    if version < OLDEST:
        told = ".".join(map(str, version)) or "unknown"
        oldest = ".".join(map(str, OLDEST))
        raise UnavailableError(
            f"'{found}' has version {told}; at least {oldest} is needed", hint=INSTALL_CLAUDE
        )
    return Path(found)


def _version(cli: str) -> tuple[int, ...]:
    try:
        answer = subprocess.run([cli, "--version"], capture_output=True, text=True, timeout=30, check=False)
    except subprocess.TimeoutExpired as error:
        raise TemporaryError(f"'{cli}' did not tell its version within {error.timeout:.0f} s") from None
    except OSError as error:
        raise UnavailableError(f"cannot run '{cli}': {error}", hint=INSTALL_CLAUDE) from None
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", answer.stdout)
    return tuple(map(int, found.groups())) if found else ()
