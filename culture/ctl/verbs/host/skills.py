"""`culturectl skills`: install the irc skill for coding sessions that people start."""

import argparse
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from culture.agent.backend.briefing import SKILL
from culture.agent.backends.table import BACKENDS
from culture.commandline import Parser
from culture.ctl import output
from culture.ctl.files import write_atomically
from culture.errors import NoInputError, NotAllowedError, UsageError

_FILE: Final = Path("irc") / "SKILL.md"
# Below the home or the project. Most agents share a directory (agentskills.io); Claude Code has its own.
_SHARED: Final = Path(".agents") / "skills"
_OWN: Final[Mapping[str, Path]] = {"claude": Path(".claude") / "skills"}


def add_arguments(parser: Parser) -> None:
    """Add the options of this verb."""
    parser.list_argument = "backends"
    parser.add_argument("action", choices=["install"], metavar="install")
    parser.add_argument(
        "backends", nargs="*", metavar="BACKEND", help=f"One of {', '.join(BACKENDS)} (default: all)"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--user", action="store_true", help="Install for all your sessions (default)")
    where.add_argument("--project", type=Path, metavar="DIR", help="Install for sessions in this directory")


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    unknown = next((name for name in options.backends if name not in BACKENDS), None)
    if unknown is not None:
        raise UsageError(f"unknown backend '{unknown}'", hint=f"known backends: {', '.join(BACKENDS)}")
    if options.project is not None and not options.project.is_dir():
        raise NoInputError(f"there is no directory '{options.project}'")
    for file in skill_files(options.backends or BACKENDS, options.project, os.environ):
        if install(file):
            output.show([str(file)])
        else:
            output.note(options, f"{file} is up to date")
    return 0


def skill_files(backends: Iterable[str], project: Path | None, env: Mapping[str, str]) -> list[Path]:
    """Return the files in which these backends look for the skill, each once."""
    base = project.absolute() if project is not None else Path(env.get("HOME", "/"))
    found = {name: base / _OWN.get(name, _SHARED) for name in backends}
    if "claude" in found and project is None and env.get("CLAUDE_CONFIG_DIR"):
        found["claude"] = Path(env["CLAUDE_CONFIG_DIR"]) / "skills"
    return [place / _FILE for place in dict.fromkeys(found.values())]


def install(file: Path) -> bool:
    """Write the skill, and return whether the file changed."""
    text = SKILL.read_bytes()
    try:
        if file.is_file() and file.read_bytes() == text:
            return False
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, text)
    except OSError as error:
        raise NotAllowedError(f"cannot write '{error.filename or file}': {error.strerror}") from None
    return True
