"""What the daemon of an agent costs, without its CLI: to start, to hear that it is meant, to wait.

Real processes, one server. The mention that an agent is asked by is also read by a plain client: what that
takes is what the network and the machine take; the rest is the daemon's.
"""

import argparse
import asyncio
import contextlib
import os
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from figures import percentiles_ms
from network import DEADLINE_S, Plain, ircd, plain_client

PROGRAM = Path(__file__).with_name("stamping_agent.py")
# The channel of the first agent. The others are elsewhere, so that they stay idle.
MEANT = "#meant"
BUSY_PER_S = 1000
BURST = 10
START_S = 60.0
WORDS = "look at the disk"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--agents", type=int, default=100, metavar="N", help="how many daemons (100)")
    parser.add_argument("--count", type=int, default=1000, metavar="N", help="how many mentions (1000)")
    parser.add_argument("--idle-s", type=float, default=60, metavar="S", help="how long they wait (60)")


def measure(options: argparse.Namespace) -> dict:
    return asyncio.run(_measure(options.agents, options.count, options.idle_s))


async def _measure(agents: int, count: int, idle_s: float) -> dict:
    with tempfile.TemporaryDirectory(prefix="culture-") as directory:
        home = Path(directory)
        async with ircd(home) as port, contextlib.AsyncExitStack() as stack:
            stamps = stack.enter_context(_datagrams(home / "stamps"))
            _configure(home, port, agents)
            stamping = {"CULTURE_BENCH_STAMPS": str(home / "stamps")}
            daemons = [
                await stack.enter_async_context(daemon(home, number, PROGRAM, stamping))
                for number in range(agents)
            ]
            observed: asyncio.Queue[float] = asyncio.Queue()
            sender = await _people(port, observed)
            quiet = [await _mention(sender, stamps, observed) for _ in range(count)]
            idle = await _idle(daemons, stamps, idle_s)
            busy = await _while_busy(port, sender, stamps, observed, count)
    return {
        "start to ready": percentiles_ms([each.ready_s for each in daemons]),
        "mention to prompt": percentiles_ms([asked for asked, _ in quiet]),
        "the same line to a plain client": percentiles_ms([read for _, read in quiet]),
        f"mention to prompt at {BUSY_PER_S}/s": percentiles_ms([asked for asked, _ in busy]),
        f"a plain client at {BUSY_PER_S}/s": percentiles_ms([read for _, read in busy]),
        "daemons": agents,
        **idle,
    }


@dataclass(frozen=True, slots=True)
class Daemon:
    pid: int
    ready_s: float

    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss_mb(self) -> float:
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@contextlib.asynccontextmanager
async def daemon(home: Path, number: int, program: Path, env: Mapping[str, str]) -> AsyncIterator[Daemon]:
    """Run the daemon of one agent, by a program that replaces its backend."""
    notify, began = home / f"{number}.notify", time.perf_counter()
    own = {
        "CULTURE_HOME": str(home),
        "CULTURE_SOCKET": str(home / f"{number}.sock"),
        "NOTIFY_SOCKET": str(notify),
    }
    # Only until it is ready: what nobody reads would block it one day.
    with _datagrams(notify) as notified:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, program, _nick(number), "--config", home / "agents.yaml"),
            stderr=asyncio.subprocess.DEVNULL,
            env={**os.environ, **env, **own},
        )
        try:
            async with asyncio.timeout(START_S):
                while b"READY=1" not in await _receive(notified):
                    pass
        except TimeoutError:
            process.kill()
            sys.exit(f"{_nick(number)} was not ready within {START_S:.0f} s")
    try:
        yield Daemon(process.pid, time.perf_counter() - began)
    finally:
        process.terminate()
        await process.wait()


async def _people(port: int, observed: asyncio.Queue[float]) -> Plain:
    def received(line: bytes, at: float) -> None:
        if WORDS.encode() in line:
            observed.put_nowait(at)

    await plain_client(port, "spark-bo", MEANT, received)
    return await plain_client(port, "spark-ori", MEANT)


async def _mention(
    sender: Plain, stamps: socket.socket, observed: asyncio.Queue[float]
) -> tuple[float, float]:
    """How long until the backend was asked, and until a plain client read the line."""
    began = time.perf_counter()
    sender.send(f"PRIVMSG {MEANT} :@spark-agent0 {WORDS}".encode())
    async with asyncio.timeout(DEADLINE_S):
        return float(await _receive(stamps)) - began, await observed.get() - began


async def _while_busy(
    port: int, sender: Plain, stamps: socket.socket, observed: asyncio.Queue[float], count: int
) -> list[tuple[float, float]]:
    talker = asyncio.create_task(_talk(await plain_client(port, "spark-talker", MEANT)))
    try:
        return [await _mention(sender, stamps, observed) for _ in range(count)]
    finally:
        talker.cancel()


async def _talk(talker: Plain) -> None:
    due = time.perf_counter()
    while True:
        for _ in range(BURST):
            talker.send(f"PRIVMSG {MEANT} :words that concern nobody in particular, said often".encode())
        due += BURST / BUSY_PER_S
        await asyncio.sleep(max(due - time.perf_counter(), 0))


async def _idle(daemons: list[Daemon], stamps: socket.socket, idle_s: float) -> dict:
    before = sum(each.cpu_s() for each in daemons)
    prompts = 0
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(idle_s):
            while await _receive(stamps):
                prompts += 1
    spent = sum(each.cpu_s() for each in daemons) - before
    return {
        "idle for s": idle_s,
        "CPU of all, % of a core": round(100 * spent / idle_s, 2),
        "prompts while idle": prompts,
        "RSS of the largest, MB": round(max(each.rss_mb() for each in daemons), 1),
    }


def _configure(home: Path, port: int, agents: int) -> None:
    rows = [
        f"  - {{nick: {_nick(number)}, channels: ['{'#elsewhere' if number else MEANT}']}}\n"
        for number in range(agents)
    ]
    (home / "agents.yaml").write_text(f"server: {{port: {port}}}\nagents:\n{''.join(rows)}")


def _nick(number: int) -> str:
    return f"spark-agent{number}"


@contextlib.contextmanager
def _datagrams(path: Path) -> Iterator[socket.socket]:
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.setblocking(False)
        sock.bind(str(path))
        yield sock


async def _receive(sock: socket.socket) -> bytes:
    return await asyncio.get_running_loop().sock_recv(sock, 4096)
