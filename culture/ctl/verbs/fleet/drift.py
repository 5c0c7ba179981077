"""`culturectl drift`: show what was changed by hand since the last apply."""

import argparse
from pathlib import Path

from culture.ctl import output
from culture.ctl.fleet.plan import Change, read_files
from culture.ctl.fleet.record import Record
from culture.ctl.fleet.report import difference
from culture.ctl.options import add_json
from culture.errors import NoInputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    parser.add_argument("--root", type=Path, metavar="DIR", help="Read the files below this directory")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Run this verb. The exit status is 1 if something was changed by hand."""
    root = options.root or Path("/")
    applied = Record(root).applied()
    if applied is None:
        raise NoInputError("nothing was applied on this host yet", hint="culturectl apply")
    now = read_files(root)
    changes = [Change(path, applied.get(path), now.get(path)) for path in dict.fromkeys([*applied, *now])]
    changes = [change for change in changes if change.old != change.new]
    rows = [{"path": str(change.path), "change": _WORDS[change.kind]} for change in changes]
    if options.json:
        output.show_json(rows)
    elif changes:
        output.show_table(("CHANGE", "PATH"), ([row["change"], row["path"]] for row in rows))
        for change in changes:
            output.show(["", *difference(change, "applied", "now")])
    else:
        output.note(options, "nothing was changed by hand")
    return 1 if changes else 0


_WORDS = {"create": "added", "change": "changed", "remove": "removed"}
