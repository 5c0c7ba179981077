"""Find the fleet file, and the host in it that a command is about."""

import argparse
import socket
import sys
from pathlib import Path
from typing import Final

from culture.config import loader, paths
from culture.config.fleet import files
from culture.config.fleet.model import FleetConfig, HostConfig
from culture.errors import NoInputError, UsageError
from culture.names import host_from_machine, host_key

_NAME: Final = "fleet.yaml"
STANDARD_INPUT: Final = Path("-")


def load_fleet(options: argparse.Namespace) -> FleetConfig:
    """Return the fleet that the options name. Raises ConfigError with every mistake in the file."""
    text, where = read_fleet(options)
    return files.parse(text, where=where)


def read_fleet(options: argparse.Namespace) -> tuple[str, str]:
    """Return the text of the fleet file, and its name for messages."""
    if options.fleet == STANDARD_INPUT:
        return sys.stdin.read(), "standard input"
    path = fleet_file(options)
    if not path.exists():
        raise NoInputError(f"'{path}' does not exist", hint="culturectl adopt > fleet.yaml")
    return loader.read_text(path), str(path)


def fleet_file(options: argparse.Namespace) -> Path:
    """Return the path of the fleet file."""
    if options.fleet is not None:
        return Path(options.fleet)
    own = Path(_NAME)
    return own if own.exists() else paths.SYSTEM_CONFIG / _NAME


def find_host(fleet: FleetConfig, name: str) -> HostConfig:
    """Return the host with this name."""
    for host in fleet.hosts:
        if host_key(host.name) == host_key(name):
            return host
    known = ", ".join(host.name for host in fleet.hosts)
    raise UsageError(f"there is no host '{name}' in the fleet", hint=f"hosts: {known}")


def this_host(fleet: FleetConfig, options: argparse.Namespace) -> HostConfig:
    """Return the host that --host names, or the one that this machine is named after."""
    if options.host:
        return find_host(fleet, options.host)
    machine = host_from_machine(socket.gethostname())
    for host in fleet.hosts:
        if host_key(host.name) == host_key(machine):
            return host
    names = "|".join(host.name for host in fleet.hosts)
    raise UsageError(f"the fleet has no host '{machine}', as this machine is called", hint=f"--host {names}")
