"""Ask systemd for the main process of a unit."""

import asyncio
import contextlib
from typing import Final

from culture.systemd.systemctl import run_systemctl

_ASKED_S: Final = 5.0


async def main_pid(unit: str) -> int:
    """Return the process id of a unit's main process; 0 if it does not run or systemd does not answer."""
    with contextlib.suppress(TimeoutError, FileNotFoundError, ValueError):
        async with asyncio.timeout(_ASKED_S):
            return int(await run_systemctl("show", "--property=MainPID", "--value", "--", unit) or 0)
    return 0
