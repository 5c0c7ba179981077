"""`culturectl queue`: what was said to an agent, and what became of it."""

import argparse
import json
import sys
from typing import Any

from culture.agent.prompt import neutral
from culture.commandline import columns
from culture.ctl.asked import add_nick, ask

HEAD = ("STATE", "SAID", "FROM", "WHERE", "TURN", "TEXT")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_nick(parser)
    parser.add_argument("--json", action="store_true", help="for programs: a line for each")


def run(options: argparse.Namespace) -> int:
    rows = ask(options.nick, {"type": "queue"})["queue"]
    if options.json:
        for row in rows:
            print(json.dumps(row, ensure_ascii=False))
    elif rows:
        print("\n".join(columns([HEAD, *map(_cells, rows)])))
    else:
        print(f"nothing was said to {options.nick} yet", file=sys.stderr)
    return 0


def _cells(row: dict[str, Any]) -> list[str]:
    """The text last: it may be long, and is one line whatever somebody wrote."""
    # The first try counts, too, once it has begun.
    is_repeat = row["tries"] > (row["state"] != "queued")
    state = f"{row['state']}, again" if is_repeat else row["state"]
    note = f"  [{row['note']}]" if row["note"] else ""
    said, where = row["said"][:19].replace("T", " "), row["channel"] or "private"
    return [*map(neutral, (state, said, row["sender"], where, row["turn"] or "-", row["text"] + note))]
