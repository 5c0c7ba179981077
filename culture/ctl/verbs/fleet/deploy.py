"""`culturectl deploy`: apply the fleet file on hosts over ssh."""

import argparse
from collections.abc import Sequence
from typing import Final

from culture.commandline import Parser
from culture.config.fleet import files
from culture.ctl import output
from culture.ctl.fleet.deploy import Deployment, Outcome, is_configuration
from culture.ctl.fleet.files import find_host, read_fleet
from culture.ctl.fleet.report import show_plan_rows
from culture.ctl.options import add_fleet, add_json
from culture.errors import ConfigError, UnavailableError

_HEAD: Final = ("HOST", "RESULT", "DETAIL")


def add_arguments(parser: Parser) -> None:
    """Add the options of this verb."""
    parser.list_argument = "hosts"
    parser.add_argument("hosts", nargs="*", metavar="HOST", help="Hosts (default: all of the fleet)")
    add_fleet(parser)
    parser.add_argument("--dry-run", action="store_true", help="Show what would change on each host")
    window = "How long a host waits for the confirmation before it takes everything back (default: 60)"
    parser.add_argument("--confirm-within", type=float, default=60.0, metavar="SECONDS", help=window)
    parser.add_argument("--now", action="store_true", help="Interrupt running turns instead of waiting")
    wait = "How long to wait for running turns (default: 600)"
    parser.add_argument("--wait", type=float, default=600.0, metavar="SECONDS", help=wait)
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    text, where = read_fleet(options)
    fleet = files.parse(text, where=where)
    hosts = [find_host(fleet, name) for name in options.hosts] or list(fleet.hosts)
    passed = ["--now"] if options.now else ["--wait", f"{options.wait:g}"]
    deployment = Deployment(
        text,
        lambda line: output.note(options, line),
        window_s=options.confirm_within,
        options=passed,
        wait_s=0 if options.now else options.wait,
    )
    plans = deployment.plan(hosts)
    if options.dry_run:
        rows = [row for plan in plans for row in plan.rows]
        show_plan_rows(rows, is_json=options.json)
        return _status(plans) or (1 if rows else 0)
    if any(plan.is_bad for plan in plans):
        output.note(options, "nothing was changed on any host")
        return _show(options, plans)
    return _show(options, deployment.apply(hosts, plans))


def _show(options: argparse.Namespace, outcomes: Sequence[Outcome]) -> int:
    rows = [{"host": each.host, "result": each.result, "detail": each.detail} for each in outcomes]
    output.show_rows(options, _HEAD, rows, lambda row: [row["host"], row["result"], row["detail"]])
    return _status(outcomes)


def _status(outcomes: Sequence[Outcome]) -> int:
    if not any(each.is_bad for each in outcomes):
        return 0
    return ConfigError.exit_status if is_configuration(outcomes) else UnavailableError.exit_status
