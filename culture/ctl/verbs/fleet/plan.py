"""`culturectl plan`: show what an apply would change on this host, and what would make it fail."""

import argparse
from pathlib import Path

from culture.ctl import output
from culture.ctl.fleet.files import load_fleet, this_host
from culture.ctl.fleet.plan import make_plan, read_files
from culture.ctl.fleet.preflight import find_failures
from culture.ctl.fleet.render import render_host
from culture.ctl.fleet.report import show_plan
from culture.ctl.options import add_fleet, add_host, add_json
from culture.errors import ConfigError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    add_fleet(parser)
    add_host(parser, "Plan for this host (default: the one that is named like this machine)")
    parser.add_argument("--root", type=Path, metavar="DIR", help="Read the files below this directory")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Run this verb. The exit status is 1 if something would change, and 78 if it would fail."""
    fleet = load_fleet(options)
    host = this_host(fleet, options)
    root = options.root or Path("/")
    plan = make_plan(read_files(root), render_host(fleet, host))
    show_plan(host.name, plan, has_diff=True, is_json=options.json)
    if not plan.changes:
        output.note(options, f"{host.name} is as the fleet says: nothing to do")
    if problems := find_failures(fleet, host, root):
        raise ConfigError(problems)
    return 1 if plan.changes else 0
