"""`culturectl resume`: let a paused agent start turns again."""

import argparse

from culture.ctl import output
from culture.ctl.agent_call import ask
from culture.ctl.options import add_nick


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    add_nick(parser)


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    if not ask(options.nick, {"type": "resume"})["was_paused"]:
        output.note(options, f"{options.nick} was not paused")
    return 0
