"""The links of this host's server, as the server writes them to a file."""

import json
import os
import time
from pathlib import Path
from typing import Final

from culture.config import loader, paths
from culture.config.ircd import IrcdConfig
from culture.ctl.output import Row
from culture.errors import UnavailableError

# A running server rewrites the file more often than this.
STALE_S: Final = 10.0


def link_rows(config_file: Path) -> list[Row] | None:
    """Return a row for each link; None if no links are configured.

    Raises UnavailableError if the server does not run or its file cannot be read.
    """
    config = loader.load(config_file, IrcdConfig)
    if not config.links:
        return None
    return _read(paths.server_state_dir(config.state_dir, config_file, os.environ) / paths.LINKS)


def _read(path: Path) -> list[Row]:
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        is_stale = time.time() - path.stat().st_mtime > STALE_S
    except FileNotFoundError:
        is_stale = True
    except PermissionError:
        raise UnavailableError(f"cannot read '{path}'", hint="sudo culturectl list-links") from None
    if is_stale:
        raise UnavailableError("the server is not running", hint="systemctl start culture-ircd")
    rows: list[Row] = told["links"]
    return rows
