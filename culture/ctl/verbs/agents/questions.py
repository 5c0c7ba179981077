"""`culturectl questions`: list the open questions of this host's agents."""

import argparse
import os

from culture.config import paths
from culture.ctl import output
from culture.ctl.options import add_agents_config, add_json
from culture.ctl.questions import open_questions
from culture.protocol.plain_text import neutral

HEAD = ("ID", "AGENT", "KIND", "ASKED", "WHERE", "ANSWERS", "TEXT")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    add_json(parser)
    add_agents_config(parser)


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    file = (options.config or paths.config_file("agents.yaml", os.environ)).absolute()
    rows = open_questions(file)
    if rows:
        output.show_rows(options, HEAD, rows, _cells)
    elif not options.json:
        output.note(options, "no agent waits for an answer")
    return 0


def _cells(row: output.Row) -> list[str]:
    asked = str(row["asked"])[:19].replace("T", " ")
    votes = "".join(f"  [{vote['nick']}: {vote['choice']}]" for vote in row["votes"])
    cells = (row["id"], row["agent"], row["kind"], asked, row["place"], "/".join(row["options"]) or "text")
    return [*map(neutral, (*cells, " ".join(str(row["text"]).split()) + votes))]
