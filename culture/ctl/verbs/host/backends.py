"""`culturectl backends`: list the programs of agents, and how to install missing ones."""

import argparse
import os
from typing import Any, Final

from culture.agent.backends.programs import WANTED, RequiredProgram, find, how_to_install
from culture.config import paths
from culture.ctl import output
from culture.ctl.options import add_json

HEAD: Final = ("AGENT", "PROGRAM", "VERSION", "WHERE")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    rows = [_row(wanted) for wanted in WANTED]
    output.show_rows(options, HEAD, rows, _cells)
    return 0


def _row(wanted: RequiredProgram) -> dict[str, Any]:
    found = find(wanted, os.environ.get("PATH"), [paths.VENDOR])
    return {
        "agent": wanted.agent,
        "program": wanted.program,
        "path": str(found.path) if found else None,
        "version": found.version or None if found else None,
        "install": how_to_install(wanted, [paths.VENDOR]),
    }


def _cells(row: dict[str, Any]) -> list[str]:
    where = row["path"] or f"not installed: {row['install']}"
    return [row["agent"], row["program"], row["version"] or "-", where]
