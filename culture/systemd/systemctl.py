"""Run systemctl from an asyncio program."""

import asyncio


async def run_systemctl(*arguments: str) -> str | None:
    """Return what systemctl prints, or None if it fails. Cancelling the call ends the process."""
    process = await asyncio.create_subprocess_exec(
        *("systemctl", *arguments),
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
    return output.decode(errors="replace") if process.returncode == 0 else None
