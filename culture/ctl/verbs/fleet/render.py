"""`culturectl render`: show or write the files of each host of the fleet."""

import argparse
from pathlib import Path

from culture.ctl import output
from culture.ctl.files import write_below
from culture.ctl.fleet.files import find_host, load_fleet
from culture.ctl.fleet.render import render
from culture.ctl.options import add_fleet, add_host


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    add_fleet(parser)
    add_host(parser, "Render only the files of this host")
    root = "Write the files below DIR/HOST (below DIR with --host) instead of printing them"
    parser.add_argument("--root", type=Path, metavar="DIR", help=root)


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    fleet = load_fleet(options)
    rendered = render(fleet)
    if options.host:
        name = find_host(fleet, options.host).name
        rendered = {name: rendered[name]}
    for host, files in rendered.items():
        for path, text in files.items():
            if options.root is None:
                output.show([f"# {host}: {path}", text])
            else:
                root = options.root if options.host else options.root / host
                output.show([str(write_below(root, path, text))])
    return 0
