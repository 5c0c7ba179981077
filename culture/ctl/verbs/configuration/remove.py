"""`culturectl remove`: remove an agent from agents.yaml, and stop its service."""

import argparse
import os

from culture.config import loader, paths
from culture.config.agents import AgentsConfig, find_agent
from culture.ctl import output
from culture.ctl.agents import is_installation
from culture.ctl.agents_file import without_agent
from culture.ctl.files import replace_file
from culture.ctl.fleet.record import is_managed
from culture.ctl.options import add_agents_config, add_nick
from culture.ctl.units import dropins
from culture.ctl.units.stop import stop_units


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    add_nick(parser)
    parser.add_argument("--dry-run", action="store_true", help="Show the new file instead of writing it")
    add_agents_config(parser)


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    path = options.config or paths.config_file("agents.yaml", os.environ)
    text = loader.read_text(path)
    agent = find_agent(loader.parse(text, AgentsConfig, where=str(path)), options.nick, where=str(path))
    result = without_agent(text, agent.nick, where=str(path))
    if options.dry_run:
        output.show([result.rstrip()])
        return 0
    replace_file(path, result)
    if is_installation(path):
        stop_units(agent.nick)
        dropins.remove_drop_ins(agent.nick, dropins.DIRECTORY)
    if is_managed():
        output.warn("culturectl: this host is managed by a fleet file: remove the agent there too")
    output.note(options, f"{agent.nick} is not in '{path}' any more; its files stay")
    return 0
