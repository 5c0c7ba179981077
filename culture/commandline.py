"""Parse command lines and align tables, for all programs."""

import argparse
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from culture import __version__
from culture.errors import UsageError


class Parser(argparse.ArgumentParser):
    """An argument parser that raises UsageError instead of ending the process."""

    # The positional argument with nargs="*" whose values may also follow options.
    list_argument: str = ""

    def __init__(self, **options: Any) -> None:
        super().__init__(add_help=False, **options)
        self.add_argument("-h", "--help", action="help", help="Show this help")

    def add_version(self) -> None:
        """Add --version."""
        self.add_argument(
            "--version", action="version", version=f"{self.prog} {__version__}", help="Show the version"
        )

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        options, rest = super().parse_known_args(args, namespace)
        if self.list_argument:
            # Before Python 3.12 argparse matches the list only in front of the first option.
            values = [word for word in rest if not word.startswith("-")]
            getattr(options, self.list_argument).extend(values)
            rest = [word for word in rest if word.startswith("-")]
        return options, rest

    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse ignores an OSError here; errors.run reports it.
        (file or sys.stderr).write(message)

    def error(self, message: str) -> NoReturn:
        """Raise UsageError with a hint that names --help."""
        raise UsageError(message, hint=f"{self.prog} --help")


def daemon_parser(program: str, description: str) -> Parser:
    """Return a parser with the options that all daemons share."""
    parser = Parser(prog=program, description=description)
    parser.add_argument("-v", "--verbose", action="store_true", help="Also log debug messages")
    parser.add_version()
    return parser


def columns(rows: Iterable[Sequence[str]]) -> list[str]:
    """Return one line per row, with the cells of each column aligned."""
    table = [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in table]
