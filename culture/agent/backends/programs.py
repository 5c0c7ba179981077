"""Find the program of each kind of agent on this host, and say how to install it."""

import importlib.util
import json
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from culture.agent.backends.acp.profiles import PROFILES
from culture.agent.backends.codex import settings as codex
from culture.agent.backends.copilot import runner as copilot

VERSION_TIMEOUT_S: Final = 30.0
INSTALL_CLAUDE: Final = "npm install -g @anthropic-ai/claude-code"
INSTALL_CLAUDE_SDK: Final = "apt install culture-claude, or in a checkout: pip install '.[claude]'"
_CLAUDE_SDK: Final = "claude_agent_sdk"
_VERSION: Final = re.compile(r"\d+\.\d+\.\d+\S*")


@dataclass(frozen=True, slots=True)
class RequiredProgram:
    """A program that runs agents."""

    # `agent` in agents.yaml.
    agent: str
    # The program's name on PATH. For acp also what stands in `acp_command`.
    program: str
    # What puts it there, for people to type.
    install: str


@dataclass(frozen=True, slots=True)
class InstalledProgram:
    """A program on this host."""

    path: Path
    # Empty if it does not tell.
    version: str


WANTED: Final = (
    RequiredProgram("claude", "claude", INSTALL_CLAUDE),
    RequiredProgram("codex", codex.PROGRAM, codex.INSTALL),
    RequiredProgram("copilot", "copilot", copilot.INSTALL),
    *(RequiredProgram("acp", name, profile.install) for name, profile in PROFILES.items()),
)


def find(wanted: RequiredProgram, path: str | None, modules: Iterable[Path] = ()) -> InstalledProgram | None:
    """Return the program, if it is installed. `modules` are directories with further Python packages."""
    if wanted.agent == "claude":
        package = _package(_CLAUDE_SDK, modules)
        if package is None:
            # The program alone will not do.
            return None
        bundled = package / "_bundled" / "claude"
        if bundled.is_file():
            return InstalledProgram(bundled, _asked(bundled))
    found = shutil.which(wanted.program, path=path)
    return (
        InstalledProgram(Path(found), _written(Path(found).resolve()) or _asked(Path(found)))
        if found
        else None
    )


def how_to_install(wanted: RequiredProgram, modules: Iterable[Path] = ()) -> str:
    """Return what to type first: claude needs its SDK, which may bring the program."""
    if wanted.agent == "claude" and _package(_CLAUDE_SDK, modules) is None:
        return INSTALL_CLAUDE_SDK
    return wanted.install


def _package(name: str, modules: Iterable[Path]) -> Path | None:
    for place in modules:
        if (place / name).is_dir():
            return place / name
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def _written(program: Path) -> str:
    """Return the version that npm wrote: starting some programs takes seconds, and leaves a daemon behind."""
    for directory in program.parents:
        try:
            package = json.loads((directory / "package.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(package, dict) and "version" in package:
            return str(package["version"])
    return ""


def _asked(program: Path) -> str:
    try:
        answer = subprocess.run(
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=VERSION_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    told = _VERSION.search(answer.stdout)
    return told[0] if told else ""
