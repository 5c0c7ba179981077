"""`culturectl completion`: print a completion script for a shell."""

import argparse

from culture.ctl import output
from culture.ctl.completion import bash, fish, zsh
from culture.ctl.completion.description import describe_common, describe_verbs

_SHELLS = {"bash": bash.script, "fish": fish.script, "zsh": zsh.script}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    parser.add_argument("shell", choices=sorted(_SHELLS), metavar="bash|fish|zsh")


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    output.show([_SHELLS[options.shell](describe_verbs(), describe_common()).rstrip()])
    return 0
