"""`culturectl list-links`: list the links to other hosts and their lag."""

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any, Final

from culture.config import loader, paths
from culture.config.ircd import IrcdConfig
from culture.ctl import output
from culture.ctl.options import add_ircd_config, add_json
from culture.errors import UnavailableError

# A running server rewrites the file more often than this.
STALE_S: Final = 10.0
HEAD: Final = ("HOST", "STATE", "SINCE", "LAG", "CHANNELS", "LACKING HERE", "LACKING THERE")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    add_json(parser)
    add_ircd_config(parser)


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    config_file = (options.config or paths.config_file("ircd.yaml", os.environ)).absolute()
    config = loader.load(config_file, IrcdConfig)
    if not config.links:
        output.note(options, "no links are configured")
        return 0
    rows = _read(paths.server_state_dir(config.state_dir, config_file, os.environ) / paths.LINKS)
    output.show_rows(options, HEAD, rows, _cells)
    return 0


def _read(path: Path) -> list[dict[str, Any]]:
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        is_stale = time.time() - path.stat().st_mtime > STALE_S
    except FileNotFoundError:
        is_stale = True
    except PermissionError:
        raise UnavailableError(f"cannot read '{path}'", hint="sudo culturectl list-links") from None
    if is_stale:
        raise UnavailableError("the server is not running", hint="systemctl start culture-ircd")
    rows: list[dict[str, Any]] = told["links"]
    return rows


def _cells(row: dict[str, Any]) -> list[str]:
    lag = f"{row['lag_ms']} ms" if row["lag_ms"] is not None else "-"
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(row["since"])) if row["since"] else "-"
    return [
        *(row["host"], row["state"], since, lag, ",".join(row["channels"] or ["all"])),
        *(",".join(row[which]) or "-" for which in ("lacking_here", "lacking_there")),
    ]
