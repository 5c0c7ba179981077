"""`culturectl list-hosts`: list the hosts of the fleet."""

import argparse
from typing import Final

from culture.config.fleet.derive import links_of
from culture.ctl import output
from culture.ctl.fleet.files import load_fleet
from culture.ctl.options import add_fleet, add_json

_HEAD: Final = ("HOST", "ADDRESS", "ARCHITECTURE", "ROLES", "AGENTS", "LINKS", "SSH")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    add_fleet(parser)
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    fleet = load_fleet(options)
    rows: list[output.Row] = [
        {
            "host": host.name,
            "address": host.address,
            "architecture": host.architecture,
            "roles": list(host.roles),
            "agents": [agent.nick for agent in host.agents],
            "links": [link.name for link in links_of(fleet, host)],
            "ssh": host.ssh_target,
        }
        for host in fleet.hosts
    ]
    output.show_rows(options, _HEAD, rows, _cells)
    return 0


def _cells(row: output.Row) -> list[str]:
    roles, links = (",".join(row[key]) or "-" for key in ("roles", "links"))
    counted = str(len(row["agents"]))
    return [row["host"], row["address"] or "-", row["architecture"], roles, counted, links, row["ssh"]]
