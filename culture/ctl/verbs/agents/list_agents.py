"""`culturectl list-agents`: list the agents of this host."""

import argparse
import os

from culture.config import paths
from culture.ctl import output
from culture.ctl.agents import AGENT_COLUMNS, agent_cells, agent_rows
from culture.ctl.options import add_agents_config, add_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    add_json(parser)
    add_agents_config(parser)


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    file = (options.config or paths.config_file("agents.yaml", os.environ)).absolute()
    rows, _ = agent_rows(file)
    if rows:
        output.show_rows(options, AGENT_COLUMNS, rows, agent_cells, is_cut=True)
    else:
        output.note(options, f"'{file}' has no agents")
    return 0
