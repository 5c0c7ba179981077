"""`culturectl list-links`: list the links to other hosts and their lag."""

import argparse
import os
import time
from typing import Any, Final

from culture.config import paths
from culture.ctl import output
from culture.ctl.links import link_rows
from culture.ctl.options import add_ircd_config, add_json

HEAD: Final = ("HOST", "STATE", "SINCE", "LAG", "CHANNELS", "LACKING HERE", "LACKING THERE")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    add_json(parser)
    add_ircd_config(parser)


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    config_file = (options.config or paths.config_file("ircd.yaml", os.environ)).absolute()
    rows = link_rows(config_file)
    if rows is None:
        output.note(options, "no links are configured")
    else:
        output.show_rows(options, HEAD, rows, _cells)
    return 0


def _cells(row: dict[str, Any]) -> list[str]:
    lag = f"{row['lag_ms']} ms" if row["lag_ms"] is not None else "-"
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(row["since"])) if row["since"] else "-"
    return [
        *(row["host"], row["state"], since, lag, ",".join(row["channels"] or ["all"])),
        *(",".join(row[which]) or "-" for which in ("lacking_here", "lacking_there")),
    ]
