"""`culturectl halt`: stop all agents of this host, or of all linked hosts, until `culturectl unhalt`."""

import argparse

from culture.ctl import output
from culture.ctl.halt_call import add_server_options, change_halt


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    parser.add_argument("why", nargs="?", default="", metavar="REASON", help="Reason shown to others")
    add_server_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    change_halt(options, "HALT", options.why)
    output.note(options, f"agents of {'all linked hosts' if options.mesh else 'this host'} are halted")
    return 0
