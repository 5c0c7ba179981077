"""`culturectl backends`: which programs run agents, which of them are here, and how to get the others."""

import argparse
import json
import os
from typing import Any, Final

from culture.agent.backends.programs import WANTED, Wanted, find, how_to_install
from culture.commandline import columns
from culture.config import paths

HEAD: Final = ("AGENT", "PROGRAM", "VERSION", "WHERE")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs: a line for each")


def run(options: argparse.Namespace) -> int:
    rows = [_row(wanted) for wanted in WANTED]
    if options.json:
        for row in rows:
            print(json.dumps(row, ensure_ascii=False))
    else:
        print("\n".join(columns([HEAD, *map(_cells, rows)])))
    return 0


def _row(wanted: Wanted) -> dict[str, Any]:
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
