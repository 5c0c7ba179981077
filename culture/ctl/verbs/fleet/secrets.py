"""`culturectl secrets`: make, install and replace the secrets of links."""

import argparse
from pathlib import Path
from typing import Final

from culture.commandline import Parser
from culture.ctl import output
from culture.ctl.fleet import secrets
from culture.ctl.fleet.files import find_host, fleet_file, load_fleet
from culture.ctl.fleet.rotation import rotate
from culture.ctl.options import add_fleet
from culture.errors import UnavailableError, UsageError

_DIRECTORY: Final = "secrets"


def add_arguments(parser: Parser) -> None:
    """Add the options of this verb."""
    parser.list_argument = "hosts"
    actions = ["make", "install", "rotate"]
    parser.add_argument("action", choices=actions, metavar="|".join(actions))
    parser.add_argument("hosts", nargs="*", metavar="HOST", help="Hosts to install on (default: all)")
    add_fleet(parser)
    where = "The directory of the secrets (default: secrets beside the fleet file)"
    parser.add_argument("--directory", type=Path, metavar="DIR", help=where)


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    fleet = load_fleet(options)
    directory = options.directory or fleet_file(options).parent / _DIRECTORY
    if options.action != "install" and options.hosts:
        what = f"secrets {options.action} is for the whole fleet"
        raise UsageError(what, hint=f"culturectl secrets {options.action}")
    if options.action == "rotate":
        for host in fleet.hosts:
            secrets.read(fleet, host, directory)
        rotate(fleet, directory, lambda text: output.note(options, text))
        return 0
    if options.action == "make":
        made = list(secrets.make(fleet, directory))
        output.show(str(directory / name) for name in made)
        if not made:
            output.note(options, f"every link has its secret in '{directory}'")
        return 0
    hosts = [find_host(fleet, name) for name in options.hosts] or list(fleet.hosts)
    texts = {host.name: secrets.read(fleet, host, directory) for host in hosts}
    failed = 0
    for host in hosts:
        answer = secrets.install(host, texts[host.name])
        if answer.status:
            failed += 1
            output.warn(f"culturectl: {host.name}: {answer.error.strip() or answer.status}")
        else:
            output.show(f"{host.name}: {name}" for name in texts[host.name])
    if not failed:
        output.note(options, "hint: a server that runs reads them at its next start")
    return UnavailableError.exit_status if failed else 0
