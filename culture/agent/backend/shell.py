"""Make a shell for an agent's commands that drops the keys which only the backend's program needs.

Claude Code can do that itself (CLAUDE_CODE_SUBPROCESS_ENV_SCRUB), but then it makes namespaces, which the
sandbox of the agent's unit forbids. opencode cannot. Both run commands by the bash that they are told to.
"""

import shlex
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Final

# claude takes only a shell that is called so.
_NAME: Final = "bash"


def make_shell(directory: Path, secret_variables: Iterable[str], path: str | None) -> dict[str, str]:
    """Write the shell into a directory. Return the variables by which programs find it; none without bash."""
    real = shutil.which(_NAME, path=path)
    names = " ".join(map(shlex.quote, secret_variables))
    if real is None or not names:
        return {}
    place = directory / "shell"
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    drop = f"unset {names}\n"
    _write(place / "drop-keys", drop)
    _write(place / _NAME, f'#!/bin/sh\n{drop}exec {shlex.quote(real)} "$@"\n')
    # A program that runs /bin/bash whatever SHELL is, as cline does, has it read BASH_ENV first (bash(1)).
    shell = {"SHELL": place / _NAME, "CLAUDE_CODE_SHELL": place / _NAME, "BASH_ENV": place / "drop-keys"}
    return {name: str(file) for name, file in shell.items()}


def _write(file: Path, text: str) -> None:
    """Replace a file that may be in use."""
    new = file.with_name(f".{file.name}.new")
    new.write_text(text, encoding="utf-8")
    new.chmod(0o700)
    new.replace(file)
