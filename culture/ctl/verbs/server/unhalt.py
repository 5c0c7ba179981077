"""`culturectl unhalt`: let agents work again after `culturectl halt`."""

import argparse

from culture.ctl import output
from culture.ctl.halt_call import add_server_options, change_halt


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    add_server_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run this verb and return 0 if agents may work again, or 1 if another halt still stops them."""
    answer = change_halt(options, "UNHALT")
    if answer.command == "HALT":
        output.warn(f"agents are still halted for all linked hosts, by {answer.param(1)}")
        output.note(options, "hint: culturectl unhalt --mesh")
        return 1
    output.note(options, "agents may work again")
    return 0
