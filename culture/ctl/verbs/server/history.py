"""`culturectl history`: maintain the message history, also while the server runs."""

import argparse
import os
from collections.abc import Callable
from pathlib import Path

from culture.config import loader, paths
from culture.config.ircd import IrcdConfig
from culture.ctl import output
from culture.ctl.options import add_ircd_config
from culture.errors import NotAllowedError, UsageError
from culture.store.history import maintenance
from culture.store.history.archive import DIRECTORY, FILE

_WITH_FILE = ("backup", "restore")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    parser.add_argument("action", choices=_ACTIONS, metavar="|".join(_ACTIONS))
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="Backup to write or to restore")
    parser.add_argument("--channel", metavar="NAME", help="Export only this channel")
    add_ircd_config(parser)


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    if (options.file is None) is (options.action in _WITH_FILE):
        wrong = "takes no file" if options.file else "needs a file"
        raise UsageError(f"history {options.action} {wrong}", hint="culturectl history --help")
    if options.channel is not None and options.action != "export":
        raise UsageError(f"history {options.action} takes no --channel", hint="culturectl history --help")
    _, directory = load_history_config(options)
    return _ACTIONS[options.action](directory, options)


def load_history_config(options: argparse.Namespace) -> tuple[IrcdConfig, Path]:
    """Return the server's configuration and the directory of its history."""
    config_file = (options.config or paths.config_file("ircd.yaml", os.environ)).absolute()
    config = loader.load(config_file, IrcdConfig)
    directory = paths.server_state_dir(config.state_dir, config_file, os.environ) / DIRECTORY
    try:
        (directory / FILE).exists()
    except PermissionError as error:
        raise NotAllowedError(f"'{error.filename}' cannot be read", hint="sudo !!") from None
    return config, directory


def _check(directory: Path, options: argparse.Namespace) -> int:
    problems = maintenance.check(directory)
    output.show(problems)
    return 1 if problems else 0


def _backup(directory: Path, options: argparse.Namespace) -> int:
    maintenance.backup(directory, options.file)
    return 0


def _restore(directory: Path, options: argparse.Namespace) -> int:
    aside = maintenance.restore(directory, options.file)
    output.note(options, f"the previous history is in '{aside}'")
    return 0


def _reindex(directory: Path, options: argparse.Namespace) -> int:
    maintenance.reindex(directory)
    output.note(options, "search results are incomplete until the server has indexed all messages")
    return 0


def _export(directory: Path, options: argparse.Namespace) -> int:
    for line in maintenance.export(directory, options.channel):
        output.show_utf8(line)
    return 0


_ACTIONS: dict[str, Callable[[Path, argparse.Namespace], int]] = {
    "backup": _backup,
    "check": _check,
    "export": _export,
    "reindex": _reindex,
    "restore": _restore,
}
