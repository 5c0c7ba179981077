"""`culturectl cat`: print the effective configuration of the server or of an agent."""

import argparse
import dataclasses
import os

import yaml

from culture.config import loader, paths
from culture.config.agents import AgentsConfig, find_agent
from culture.config.ircd import IrcdConfig
from culture.ctl import output
from culture.ctl.dump import as_full_data
from culture.ctl.options import add_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    parser.add_argument("nick", nargs="?", metavar="NICK", help="Nick of an agent (default: the server)")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    name = "agents.yaml" if options.nick else "ircd.yaml"
    path = paths.config_file(name, os.environ)
    if options.nick:
        agents = loader.load(path, AgentsConfig)
        agent = find_agent(agents, options.nick, where=str(path))
        data = as_full_data(dataclasses.replace(agents, agents=(agent,)))
    else:
        data = as_full_data(loader.load(path, IrcdConfig))
    if options.json:
        output.show_json([data])
    else:
        text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100)
        output.show([f"# {path}, with every key that is not there at its default", text.rstrip()])
    return 0
