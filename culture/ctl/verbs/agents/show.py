"""`culturectl show`: print the properties of an agent, one per line, for programs."""

import argparse
import os

from culture.config import loader, paths
from culture.config.agents import AgentsConfig, find_agent
from culture.ctl import output
from culture.ctl.agent_call import unit_of
from culture.ctl.agents import agent_rows
from culture.ctl.options import add_json, add_nick
from culture.names import agent_user


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    add_nick(parser)
    parser.add_argument("-p", "--property", action="append", metavar="NAME", help="Print only this property")
    parser.add_argument("--value", action="store_true", help="Print values without the names")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    path = paths.config_file("agents.yaml", os.environ)
    agent = find_agent(loader.load(path, AgentsConfig), options.nick, where=str(path))
    rows, _ = agent_rows(path)
    row: output.Row = {
        **next(row for row in rows if row["nick"] == agent.nick),
        "unit": unit_of(agent.nick),
        "user": agent.user or agent_user(agent.nick),
        "directory": agent.directory,
        "channels": list(agent.channels),
        "model": agent.model,
    }
    if options.property:
        row = {name: row.get(name) for name in options.property}
    if options.json:
        output.show_json([row])
    else:
        texts = {name: _text(value) for name, value in row.items()}
        output.show(text if options.value else f"{name}={text}" for name, text in texts.items())
    return 0


def _text(value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value))
    return "" if value is None else str(value)
