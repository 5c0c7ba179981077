"""`culturectl adopt`: print a fleet file that describes this host as it is."""

import argparse
import os
import socket
from pathlib import Path
from typing import Final, TypeVar

import yaml

from culture.config import loader, paths
from culture.config.agents import AgentsConfig
from culture.config.fleet import files
from culture.config.ircd import IrcdConfig
from culture.ctl import output
from culture.ctl.fleet.adopt import adopt
from culture.ctl.fleet.preflight import architecture_of_this_machine
from culture.errors import ConfigError, describe
from culture.names import host_from_machine

_Model = TypeVar("_Model", IrcdConfig, AgentsConfig)
_HEAD: Final = "# Read from the files of a host by culturectl adopt. Keys: man culture-fleet.yaml"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    where = "Read ircd.yaml and agents.yaml of this directory instead of ~/.culture or /etc/culture"
    parser.add_argument("--from", dest="directory", type=Path, metavar="DIR", help=where)


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    machine = socket.gethostname()
    adopted = adopt(
        _load(options, "ircd.yaml", IrcdConfig),
        _load(options, "agents.yaml", AgentsConfig),
        name=host_from_machine(machine),
        machine=machine,
        architecture=architecture_of_this_machine(),
    )
    text = yaml.safe_dump(adopted.fleet, sort_keys=False, allow_unicode=True, width=100)
    output.show([_HEAD, text.rstrip()])
    for left in adopted.left_out:
        output.warn(f"culturectl: {left} has no place in a fleet file, and is left out")
    try:
        files.parse(text, where="the result")
    except ConfigError as error:
        output.warn(describe("culturectl", error).rstrip())
        output.warn("culturectl: complete the result before you use it")
    return 0


def _load(options: argparse.Namespace, name: str, model: type[_Model]) -> _Model:
    path = options.directory / name if options.directory else paths.config_file(name, os.environ)
    return loader.load(path, model) if path.exists() else model()
