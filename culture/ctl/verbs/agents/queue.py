"""`culturectl queue`: list the messages to an agent and their state."""

import argparse
from typing import Any

from culture.agent.reporting.status import queue_rows
from culture.ctl import output
from culture.ctl.agent_call import ask, operator_name
from culture.ctl.agent_files import state_directory
from culture.ctl.options import add_json, add_nick
from culture.errors import ConfigError, UnavailableError
from culture.protocol.plain_text import neutral
from culture.store.agent.file import FILE, left_queue

HEAD = ("ID", "STATE", "SAID", "FROM", "WHERE", "TURN", "TEXT")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    add_nick(parser)
    add_json(parser)
    parser.add_argument("--drop", type=int, metavar="ID", help="Drop one message that waits for a turn")


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    if options.drop is not None:
        ask(options.nick, {"type": "drop", "number": options.drop, "name": operator_name()})
        return 0
    rows = _rows(options)
    if rows:
        output.show_rows(options, HEAD, rows, _cells)
    elif not options.json:
        output.note(options, f"{options.nick} has no messages yet")
    return 0


def _rows(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the queue from the running agent, or from its file if it is not running."""
    try:
        return list(ask(options.nick, {"type": "queue"})["queue"])
    except (UnavailableError, ConfigError) as error:
        directory = state_directory(options.nick)
        if directory is None:
            raise
        output.note(options, f"{error}; reading '{directory / FILE}'")
    with left_queue(directory) as queue:
        return queue_rows(queue)


def _cells(row: dict[str, Any]) -> list[str]:
    """Return the cells, with the text last because it may be long."""
    # `tries` includes the current one once it has begun.
    is_repeat = row["tries"] > (row["state"] != "queued")
    state = f"{row['state']}, again" if is_repeat else row["state"]
    note = f"  [{row['note']}]" if row["note"] else ""
    said, where = row["said"][:19].replace("T", " "), row["channel"] or "private"
    return [
        str(row["id"]),
        *map(neutral, (state, said, row["sender"], where, row["turn"] or "-", row["text"] + note)),
    ]
