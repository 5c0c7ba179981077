"""Ask systemd for the main process of a unit."""

import asyncio
import contextlib
from typing import Final

_ASKED_S: Final = 5.0


async def main_pid(unit: str) -> int:
    """Return the process id of a unit's main process; 0 if it does not run or systemd does not answer."""
    with contextlib.suppress(TimeoutError, FileNotFoundError, ValueError):
        async with asyncio.timeout(_ASKED_S):
            process = await asyncio.create_subprocess_exec(
                *("systemctl", "show", "--property=MainPID", "--value", "--", unit),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
            )
            try:
                output, _ = await process.communicate()
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()
            return int(output)
    return 0
