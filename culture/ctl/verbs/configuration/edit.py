"""`culturectl edit`: change a configuration file in an editor; a file with mistakes is not installed."""

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from culture.config import loader, paths
from culture.config.agents import AgentsConfig
from culture.config.fleet import files
from culture.config.ircd import IrcdConfig
from culture.ctl import output
from culture.ctl.files import replace_file
from culture.errors import ConfigError, UnavailableError, describe

_CHECKS: Final[dict[str, Callable[[str, str], Any]]] = {
    "agents": lambda text, where: loader.parse(text, AgentsConfig, where=where),
    "fleet": lambda text, where: files.parse(text, where=where),
    "ircd": lambda text, where: loader.parse(text, IrcdConfig, where=where),
}
_NEXT: Final = {
    "agents": "culturectl units, then systemctl restart culture-agent@NICK",
    "fleet": "culturectl plan",
    "ircd": "systemctl reload culture-ircd; some keys need a restart",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    choices = sorted(_CHECKS)
    parser.add_argument("file", choices=choices, metavar="|".join(choices), help="The file to edit")


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    path = paths.config_file(f"{options.file}.yaml", os.environ)
    old = loader.read_text(path) if path.exists() else ""
    with tempfile.NamedTemporaryFile("w+", suffix=f"-{options.file}.yaml", encoding="utf-8") as copy:
        copy.write(old)
        copy.flush()
        while True:
            _edit(Path(copy.name))
            new = Path(copy.name).read_text(encoding="utf-8")
            try:
                _CHECKS[options.file](new, str(path))
                break
            except ConfigError as error:
                if not _wants_again(error):
                    raise
    if new == old:
        output.note(options, f"'{path}' is as it was")
        return 0
    replace_file(path, new)
    output.note(options, f"'{path}' is changed\nhint: {_NEXT[options.file]}")
    return 0


def _edit(path: Path) -> None:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "sensible-editor"
    try:
        subprocess.run([*shlex.split(editor), str(path)], check=True)
    except subprocess.CalledProcessError as error:
        what = f"'{editor}' ended with status {error.returncode}; nothing was changed"
        raise UnavailableError(what) from None
    except OSError as error:
        raise UnavailableError(f"cannot run '{editor}': {error.strerror}", hint="EDITOR=nano") from None


def _wants_again(error: ConfigError) -> bool:
    """Ask whether to go on editing a file with mistakes. Without a terminal the answer is no."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    output.warn(describe("culturectl", error).rstrip())
    output.ask("edit again? [Y/n] ")
    return sys.stdin.readline().strip().lower() in ("", "y", "yes")
