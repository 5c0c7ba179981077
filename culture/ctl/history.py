"""`culturectl history`: what was said on this host, looked after while the server runs."""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from culture.config import loader, paths
from culture.config.ircd import IrcdConfig
from culture.errors import NotAllowedError, UsageError
from culture.store.history import keeping
from culture.store.history.archive import DIRECTORY, FILE

_WITH_FILE = ("backup", "restore")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=_ACTIONS, metavar="|".join(_ACTIONS))
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="for backup and restore")
    parser.add_argument("--channel", metavar="NAME", help="export this one alone")
    add_config_argument(parser)


def add_config_argument(parser: argparse.ArgumentParser) -> None:
    where = (
        "the server's configuration (default: ~/.culture/ircd.yaml if it exists, else /etc/culture/ircd.yaml)"
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help=where)


def run(options: argparse.Namespace) -> int:
    if (options.file is None) is (options.action in _WITH_FILE):
        wrong = "takes no file" if options.file else "needs a file"
        raise UsageError(f"history {options.action} {wrong}", hint="culturectl history --help")
    if options.channel is not None and options.action != "export":
        raise UsageError(f"history {options.action} takes no --channel", hint="culturectl history --help")
    _, directory = configured(options)
    return _ACTIONS[options.action](directory, options)


def configured(options: argparse.Namespace) -> tuple[IrcdConfig, Path]:
    """The server's configuration, and where its history is."""
    config_file = (options.config or paths.config_file("ircd.yaml", os.environ)).absolute()
    config = loader.load(config_file, IrcdConfig)
    directory = paths.server_state_dir(config.state_dir, config_file, os.environ) / DIRECTORY
    try:
        (directory / FILE).exists()
    except PermissionError as error:
        raise NotAllowedError(f"'{error.filename}' is not yours", hint="sudo !!") from None
    return config, directory


def _check(directory: Path, options: argparse.Namespace) -> int:
    problems = keeping.check(directory)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


def _backup(directory: Path, options: argparse.Namespace) -> int:
    keeping.backup(directory, options.file)
    return 0


def _restore(directory: Path, options: argparse.Namespace) -> int:
    aside = keeping.restore(directory, options.file)
    print(f"what was there before is in '{aside}'", file=sys.stderr)
    return 0


def _reindex(directory: Path, options: argparse.Namespace) -> int:
    keeping.reindex(directory)
    print("searches find less until the server has gone through all messages", file=sys.stderr)
    return 0


def _export(directory: Path, options: argparse.Namespace) -> int:
    for line in keeping.export(directory, options.channel):
        # Whatever the terminal is set to: JSON is UTF-8 (RFC 8259, section 8.1).
        sys.stdout.buffer.write(f"{line}\n".encode())
    return 0


_ACTIONS: dict[str, Callable[[Path, argparse.Namespace], int]] = {
    "backup": _backup,
    "check": _check,
    "export": _export,
    "reindex": _reindex,
    "restore": _restore,
}
