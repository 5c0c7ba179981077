"""`culturectl confirm`: keep an apply that would be taken back otherwise."""

import argparse
from pathlib import Path

from culture.ctl import output
from culture.ctl.fleet import undo_timer
from culture.ctl.fleet.record import Record
from culture.errors import NoInputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    record = Record(Path("/"))
    with record.locked():
        undo = record.pending()
        if undo is None:
            hint = "culturectl apply; an apply that was taken back is in the journal"
            raise NoInputError("no apply waits for a confirmation", hint=hint)
        undo_timer.disarm()
        record.confirm()
    output.note(options, f"{undo.host}: the apply is confirmed")
    return 0
