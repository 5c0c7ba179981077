"""What the service manager is about to do with a unit of ours."""

import asyncio
import contextlib
from typing import Final

ASKED_S: Final = 1.0
AGAIN_S: Final = 0.1
"""At the beginning and the end of a boot there may be no D-Bus for a moment."""


async def is_stopped_for_good(unit: str) -> bool | None:
    """Whether it is being stopped and not restarted. None: nobody could be asked."""
    with contextlib.suppress(TimeoutError, FileNotFoundError):
        async with asyncio.timeout(ASKED_S):
            while True:
                if (jobs := await _list_jobs(unit)) is not None:
                    # Number, unit, type and state (systemctl(1), list-jobs).
                    return any(row.split()[1:3] == [unit, "stop"] for row in jobs.splitlines())
                await asyncio.sleep(AGAIN_S)
    return None


async def _list_jobs(unit: str) -> str | None:
    asked = await asyncio.create_subprocess_exec(
        *("systemctl", "list-jobs", "--no-legend", "--plain", "--", unit),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        told, _ = await asked.communicate()
    finally:
        if asked.returncode is None:
            asked.kill()
            await asked.wait()
    return told.decode(errors="replace") if asked.returncode == 0 else None
