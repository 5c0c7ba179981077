"""Ask systemd about queued jobs of a unit."""

import asyncio
import contextlib
from typing import Final

from culture.systemd.systemctl import run_systemctl

ASKED_S: Final = 1.0
# At the beginning and the end of a boot there may be no D-Bus for a moment.
AGAIN_S: Final = 0.1


async def is_stopped_for_good(unit: str) -> bool | None:
    """Return whether the unit is being stopped rather than restarted; None if systemd cannot be process."""
    with contextlib.suppress(TimeoutError, FileNotFoundError):
        async with asyncio.timeout(ASKED_S):
            while True:
                if (
                    jobs := await run_systemctl("list-jobs", "--no-legend", "--plain", "--", unit)
                ) is not None:
                    # Number, unit, type and state (systemctl(1), list-jobs).
                    return any(row.split()[1:3] == [unit, "stop"] for row in jobs.splitlines())
                await asyncio.sleep(AGAIN_S)
    return None
