"""`culturectl undo`: take the last apply back."""

import argparse
from pathlib import Path

from culture.ctl import output
from culture.ctl.fleet.apply import take_back
from culture.ctl.fleet.record import Record
from culture.errors import NoInputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    pending = "Only if the apply was not confirmed; the timer and the boot run this"
    parser.add_argument("--pending", action="store_true", help=pending)
    boot = "Leave services alone: they are about to be started"
    parser.add_argument("--at-boot", action="store_true", help=boot)
    root = "Work below this directory, and leave units alone"
    parser.add_argument("--root", type=Path, metavar="DIR", help=root)


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    root = options.root or Path("/")
    record = Record(root)
    with record.locked(wait=options.pending):
        undo = record.pending() or (None if options.pending else record.previous())
        if undo is None:
            if options.pending:
                output.note(options, "nothing to take back: the apply was confirmed")
                return 0
            raise NoInputError("there is no apply to take back", hint="culturectl plan")
        take_back(undo, root, record, has_units=options.root is None, is_booting=options.at_boot)
    output.show(undo.files)
    output.note(options, f"{undo.host}: the apply was taken back")
    return 0
