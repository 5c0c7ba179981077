"""How long it takes from `culturectl halt --mesh` until the agents of two linked hosts are silent."""

import asyncio
import contextlib
import os
import re
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

from mesh import Host, hosts, until
from network import plain_client

PROGRAM = Path(__file__).with_name("endless_agent.py")
CHANNEL = "#halting"
TIMES = 5


async def measure_halting() -> dict[str, object]:
    """Return the slowest of several halts, in milliseconds."""
    with tempfile.TemporaryDirectory(prefix="culture-") as directory:
        async with (
            hosts([("spark", "thor")], Path(directory)) as running,
            contextlib.AsyncExitStack() as stack,
        ):
            logs = [await stack.enter_async_context(_agent(host)) for host in running.values()]
            for host in running.values():
                person = await plain_client(host.port, f"{host.name}-ori", CHANNEL)
                person.send(f"PRIVMSG {host.name}-agent :work".encode())
            taken_ms = []
            for turn in range(1, TIMES + 1):
                await until(lambda turn=turn: all(log.read_text().count("began") == turn for log in logs))
                began = time.time()
                await _culturectl(running["spark"], "halt")
                await until(lambda turn=turn: all(log.read_text().count("ended") == turn for log in logs))
                ended = [float(re.findall(r"ended (\S+)", log.read_text())[-1]) for log in logs]
                taken_ms.append((max(ended) - began) * 1000)
                await _culturectl(running["spark"], "unhalt")
    return {"slowest halt of two hosts, ms": round(max(taken_ms))}


@contextlib.asynccontextmanager
async def _agent(host: Host) -> AsyncIterator[Path]:
    """Run an agent of this host and return its log."""
    nick, log = f"{host.name}-agent", host.home / "turns"
    log.touch()
    channels = f"channels: ['{CHANNEL}']"
    (host.home / "agents.yaml").write_text(
        f"server: {{port: {host.port}}}\nagents: [{{nick: {nick}, {channels}}}]\n"
    )
    own = {"CULTURE_HOME": str(host.home), "CULTURE_BENCH_LOG": str(log)}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, PROGRAM, nick, "--config", host.home / "agents.yaml"),
        stderr=asyncio.subprocess.DEVNULL,
        env={**os.environ, **own, "CULTURE_SOCKET": str(host.home / "agent.sock")},
    )
    try:
        await until(lambda: f"{nick} (" in (host.home / "log").read_text())
        yield log
    finally:
        process.terminate()
        await process.wait()


async def _culturectl(host: Host, verb: str) -> None:
    words = (verb, "--mesh", "--quiet", "--server", f"127.0.0.1:{host.port}")
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "culture.ctl.main", *words)
    if await process.wait():
        sys.exit(f"culturectl {verb} failed")
