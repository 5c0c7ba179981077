"""`culturectl pause`: stop an agent from starting new turns."""

import argparse

from culture.ctl.agent_call import ask, operator_name
from culture.ctl.options import add_nick


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    add_nick(parser)
    parser.add_argument(
        "why", nargs="?", metavar="REASON", help="Reason shown to others (default: your name)"
    )
    parser.add_argument(
        "--interrupt", action="store_true", help="Interrupt the running turn; it is repeated after resume"
    )


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    why = options.why or f"by {operator_name()}"
    ask(options.nick, {"type": "pause", "why": why, "interrupt": options.interrupt})
    return 0
