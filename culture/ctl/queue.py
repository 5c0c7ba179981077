"""`culturectl queue`: what was said to an agent, and what became of it."""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from culture.agent.environment import own_directory
from culture.agent.prompt import neutral
from culture.agent.status import queue_rows
from culture.commandline import columns
from culture.config import paths
from culture.ctl.asked import add_nick, ask
from culture.errors import ConfigError, NotAllowedError, UnavailableError
from culture.store.agent.file import FILE, left_queue

HEAD = ("STATE", "SAID", "FROM", "WHERE", "TURN", "TEXT")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_nick(parser)
    parser.add_argument("--json", action="store_true", help="for programs: a line for each")


def run(options: argparse.Namespace) -> int:
    rows = _rows(options.nick)
    if options.json:
        for row in rows:
            print(json.dumps(row, ensure_ascii=False))
    elif rows:
        print("\n".join(columns([HEAD, *map(_cells, rows)])))
    else:
        print(f"nothing was said to {options.nick} yet", file=sys.stderr)
    return 0


def _rows(nick: str) -> list[dict[str, Any]]:
    """As the agent says, else as its file does."""
    try:
        return list(ask(nick, {"type": "queue"})["queue"])
    except (UnavailableError, ConfigError) as error:
        directory = _left_by(nick)
        if directory is None:
            raise
        print(f"{error}: this is what it left in '{directory / FILE}'", file=sys.stderr)
    with left_queue(directory) as queue:
        return queue_rows(queue)


def _left_by(nick: str) -> Path | None:
    """Where an agent keeps its queue that a person runs, or that is a service."""
    places = (own_directory(nick, os.environ), paths.SYSTEM_STATE / "agents" / nick)
    try:
        return next((place for place in places if (place / FILE).exists()), None)
    except PermissionError as error:
        hint = "be the agent's user or root: sudo"
        raise NotAllowedError(f"'{error.filename}' is not yours", hint=hint) from None


def _cells(row: dict[str, Any]) -> list[str]:
    """The text last: it may be long, and is one line whatever somebody wrote."""
    # The first try counts, too, once it has begun.
    is_repeat = row["tries"] > (row["state"] != "queued")
    state = f"{row['state']}, again" if is_repeat else row["state"]
    note = f"  [{row['note']}]" if row["note"] else ""
    said, where = row["said"][:19].replace("T", " "), row["channel"] or "private"
    return [*map(neutral, (state, said, row["sender"], where, row["turn"] or "-", row["text"] + note))]
