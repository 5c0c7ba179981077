"""Command lines: a mistake is told in our own words, and ends the program as every other error does."""

import argparse
from typing import NoReturn

from culture import __version__
from culture.errors import UsageError


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=f"{self.prog} --help")


def daemon_parser(program: str, description: str) -> Parser:
    """What the command lines of all daemons have in common."""
    parser = Parser(prog=program, description=description)
    parser.add_argument("-v", "--verbose", action="store_true", help="log more")
    parser.add_argument("--version", action="version", version=f"{program} {__version__}")
    return parser
