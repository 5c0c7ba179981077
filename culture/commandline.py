"""What all programs have in common on a terminal: their command lines, and tables for people."""

import argparse
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from culture import __version__
from culture.errors import UsageError


class Parser(argparse.ArgumentParser):
    words: str = ""
    """The argument that takes a list of words, of which some may stand behind options."""

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        found, rest = super().parse_known_args(args, namespace)
        if self.words:
            # Before Python 3.12 a list that was empty in front of an option stays so.
            getattr(found, self.words).extend(word for word in rest if not word.startswith("-"))
            rest = [word for word in rest if word.startswith("-")]
        return found, rest

    def _print_message(self, message: str, file: Any = None) -> None:
        # Argparse keeps it to itself if that fails.
        (file or sys.stderr).write(message)

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=f"{self.prog} --help")


def daemon_parser(program: str, description: str) -> Parser:
    """What the command lines of all daemons have in common."""
    parser = Parser(prog=program, description=description)
    parser.add_argument("-v", "--verbose", action="store_true", help="log more")
    parser.add_argument("--version", action="version", version=f"{program} {__version__}")
    return parser


def columns(rows: Iterable[Sequence[str]]) -> list[str]:
    """Rows with their cells below each other."""
    table = [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in table]
