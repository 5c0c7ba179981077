"""`culturectl abort`: stop what an agent works on, for good."""

import argparse

from culture.ctl import output
from culture.ctl.agent_call import ask, operator_name
from culture.ctl.options import add_nick


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    add_nick(parser)


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    if not ask(options.nick, {"type": "abort", "name": operator_name()})["was_working"]:
        output.note(options, f"{options.nick} has nothing to stop")
    return 0
