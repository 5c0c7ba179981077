"""`culturectl restart`: restart the backend of an agent."""

import argparse

from culture.ctl.agent_call import ask, operator_name
from culture.ctl.options import add_nick


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    add_nick(parser)
    parser.add_argument("--fresh", action="store_true", help="Begin a new session, without the old context")


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    ask(options.nick, {"type": "restart", "fresh": options.fresh, "name": operator_name()})
    return 0
