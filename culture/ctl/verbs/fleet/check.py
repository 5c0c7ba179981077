"""`culturectl check`: report every mistake in the fleet file."""

import argparse

from culture.ctl import output
from culture.ctl.fleet.files import load_fleet
from culture.ctl.options import add_fleet


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    add_fleet(parser)


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    fleet = load_fleet(options)
    agents = sum(len(host.agents) for host in fleet.hosts)
    counts = (_count(len(fleet.hosts), "host"), _count(len(fleet.pairs()), "link"), _count(agents, "agent"))
    output.note(options, f"the fleet file is valid: {', '.join(counts)}")
    return 0


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
