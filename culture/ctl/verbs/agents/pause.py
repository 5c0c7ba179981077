"""`culturectl pause`: stop an agent from starting new turns."""

import argparse
import getpass

from culture.ctl.agent_call import ask
from culture.ctl.options import add_nick


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    add_nick(parser)
    parser.add_argument(
        "why", nargs="?", metavar="REASON", help="Reason shown to others (default: your name)"
    )


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    ask(options.nick, {"type": "pause", "why": options.why or f"by {getpass.getuser()}"})
    return 0
