"""`culturectl audit`: show or verify who decided what for the agents of this host."""

import argparse
import json
import os

from culture.config import loader, paths
from culture.config.agents import AgentsConfig
from culture.ctl import output
from culture.ctl.agent_files import state_directory
from culture.ctl.options import add_agents_config, add_json
from culture.protocol.plain_text import neutral
from culture.protocol.render import format_time
from culture.store.agent.audit import AuditRow
from culture.store.agent.file import stored_questions

HEAD = ("TIME", "AGENT", "QUESTION", "EVENT", "BY", "AUTHORITY", "DECISION", "TEXT")
_VERIFY_HEAD = ("AGENT", "ROWS", "RESULT")
_DIFFERENT = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    what = "verify: check that no row was changed, removed or reordered"
    parser.add_argument("action", nargs="?", choices=("verify",), metavar="verify", help=what)
    add_json(parser)
    add_agents_config(parser)


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    file = (options.config or paths.config_file("agents.yaml", os.environ)).absolute()
    nicks = [agent.nick for agent in loader.load(file, AgentsConfig).agents]
    return _verify(options, nicks) if options.action else _show(options, nicks)


def _show(options: argparse.Namespace, nicks: list[str]) -> int:
    rows = [_row(nick, row) for nick in nicks for row in _log(nick)[0]]
    rows.sort(key=lambda row: str(row["time"]))
    if rows:
        output.show_rows(options, HEAD, rows, _cells)
    elif not options.json:
        output.note(options, "no agent has asked anything yet")
    return 0


def _verify(options: argparse.Namespace, nicks: list[str]) -> int:
    rows: list[output.Row] = []
    for nick in nicks:
        logged, problems = _log(nick)
        rows.append({"agent": nick, "rows": len(logged), "problems": problems})
    output.show_rows(options, _VERIFY_HEAD, rows, _verify_cells)
    return _DIFFERENT if any(row["problems"] for row in rows) else 0


def _log(nick: str) -> tuple[list[AuditRow], list[str]]:
    """Return the rows of an agent's log, and its problems."""
    directory = state_directory(nick)
    if directory is None:
        return [], []
    with stored_questions(directory) as (_, audit):
        return audit.rows(), audit.problems()


def _row(nick: str, row: AuditRow) -> output.Row:
    return {
        "time": format_time(row.at_ms / 1000),
        "agent": nick,
        "number": row.number,
        "question": row.question,
        "event": row.event,
        "details": json.loads(row.details),
        "previous": row.previous,
        "hash": row.hash,
    }


def _cells(row: output.Row) -> list[str]:
    details = row["details"]
    decision = details.get("decision") or details
    by = decision.get("by") or decision.get("nick") or "-"
    authority = decision.get("authority") or decision.get("standing") or "-"
    text = " ".join(str(decision.get("text") or details.get("text") or "").split())
    cells = (str(row["time"])[:19].replace("T", " "), row["agent"], row["question"], row["event"])
    return [*map(neutral, (*cells, by, authority, decision.get("choice") or "-", text))]


def _verify_cells(row: output.Row) -> list[str]:
    return [row["agent"], str(row["rows"]), "; ".join(row["problems"]) or "intact"]
