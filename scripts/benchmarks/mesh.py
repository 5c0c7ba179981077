"""Linked hosts: what a hop adds, how fast a host that was away catches up, what that costs."""

import argparse
import asyncio
import contextlib
import os
import re
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path

from figures import percentiles_ms
from history import file_all
from network import Plain, plain_client

from culture.protocol.event_record import GENERATION_SHIFT, EventRecord
from culture.store.history.archive import Archive

NAMES = ("spark", "thor", "orin", "ec2")
CHANNEL = "#bench"
DEADLINE_S = 120.0
TEXT = "the quick brown fox jumps over the lazy dog, and then does it again"
BOTTOM = 1 << GENERATION_SHIFT


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--count", type=int, default=1000, metavar="N", help="messages for latency (1000)")
    parser.add_argument(
        "--replay", type=int, default=100_000, metavar="N", help="messages that lack (100000)"
    )
    parser.add_argument(
        "--rate", type=int, default=1000, metavar="N", help="messages per second for CPU (1000)"
    )
    parser.add_argument("--seconds", type=int, default=10, metavar="N", help="how long that goes on (10)")


def measure(options: argparse.Namespace) -> dict[str, object]:
    return asyncio.run(_measure(options))


async def _measure(options: argparse.Namespace) -> dict[str, object]:
    return {
        **await _latency(options.count),
        **await _replay(options.replay),
        **await _bytes(2000),
        **await _load(options.rate, options.seconds),
    }


@dataclass(frozen=True, slots=True)
class Host:
    name: str
    home: Path
    port: int
    process: asyncio.subprocess.Process

    @property
    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    async def says(self, text: str, times: int) -> None:
        await until(lambda: (self.home / "log").read_text().count(text) >= times)


@contextlib.asynccontextmanager
async def hosts(links: Sequence[tuple[str, str]], place: Path) -> AsyncIterator[dict[str, Host]]:
    """In the order of their names; the later one of a link dials."""
    running: dict[str, Host] = {}
    try:
        for name in NAMES:
            peers = [one if other == name else other for one, other in links if name in (one, other)]
            if peers:
                running[name] = await _start(name, place / name, peers, running)
        for name, host in running.items():
            await host.says(": linked", sum(name in link for link in links))
        yield running
    finally:
        for host in running.values():
            await _stop(host)


async def _start(
    name: str, home: Path, peers: Sequence[str], running: dict[str, Host], through: int | None = None
) -> Host:
    """Dials those that run already, or this port instead."""
    _configure(name, home, {peer: through or running[peer].port if peer in running else 0 for peer in peers})
    with (home / "log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "culture.daemons.ircd", "--config", home / "ircd.yaml"),
            env={**os.environ, "CREDENTIALS_DIRECTORY": str(home)},
            stderr=log,
        )
    listening = r"listening on 127\.0\.0\.1:(\d+)"
    await until(lambda: re.search(listening, (home / "log").read_text()) is not None)
    port = int(re.findall(listening, (home / "log").read_text())[-1])
    return Host(name, home, port, process)


def _configure(name: str, home: Path, ports: Mapping[str, int]) -> None:
    home.mkdir(exist_ok=True)
    config = f"name: {name}\nlisten: ['127.0.0.1:0']\nstate_dir: {home}\nskills: [history]\n"
    config += "history: {semantic: false, client_bytes_per_s: 0, total_bytes_per_s: 0}\n"
    config += "limits: {local_rate_lines_per_s: 0}\nlinks:\n"
    for peer, port in ports.items():
        address = f", address: '127.0.0.1:{port}'" if port else ""
        # Each link has a secret of its own.
        (home / peer).write_text(f"sesame of {'-'.join(sorted((name, peer)))}")
        config += f"  - {{name: {peer}, secret_credential: {peer}{address}}}\n"
    (home / "ircd.yaml").write_text(config)


async def _stop(host: Host) -> None:
    host.process.terminate()
    await host.process.wait()


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so, or give up."""
    deadline = time.monotonic() + DEADLINE_S
    while not is_so():
        if time.monotonic() > deadline:
            sys.exit("it takes too long")
        await asyncio.sleep(0.02)


async def _latency(count: int) -> dict[str, object]:
    """Readers on the host of the sender, next to it, and at the end of a chain."""
    with tempfile.TemporaryDirectory() as name:
        async with hosts([*pairwise(NAMES)], Path(name)) as running:
            arrived: dict[str, list[float]] = {"spark": [], "thor": [], "ec2": []}
            last = asyncio.Event()

            def on_line(reader: str, line: bytes, at: float) -> None:
                if b" PRIVMSG " in line:
                    arrived[reader].append(at - sent_at)
                    if reader == "ec2":
                        last.set()

            for reader in arrived:
                await plain_client(
                    running[reader].port,
                    f"{reader}-reader",
                    CHANNEL,
                    lambda line, at, reader=reader: on_line(reader, line, at),
                )
            sender = await plain_client(running["spark"].port, "spark-sender", CHANNEL)
            await _everyone_is_in(running["ec2"].port, "ec2-look", 4)
            sent_at = 0.0
            for _ in range(count):
                last.clear()
                sent_at = time.perf_counter()
                sender.send(f"PRIVMSG {CHANNEL} :{TEXT}".encode())
                async with asyncio.timeout(DEADLINE_S):
                    await last.wait()
                await asyncio.sleep(0.002)
    ways = {"spark": "delivered on the same host", "thor": "over one hop", "ec2": "over three hops"}
    return {ways[reader]: percentiles_ms(times) for reader, times in arrived.items()}


async def _everyone_is_in(port: int, nick: str, count: int) -> None:
    """Until a host knows of so many members."""
    names: set[str] = set()

    def on_line(line: bytes, at: float) -> None:
        if b" 353 " in line:
            names.update(line.decode().rpartition(":")[2].split())

    client = await plain_client(port, nick, CHANNEL, on_line)
    async with asyncio.timeout(DEADLINE_S):
        while len(names) <= count:
            client.send(f"NAMES {CHANNEL}".encode())
            await asyncio.sleep(0.05)
    client.send(b"QUIT")


async def _replay(count: int) -> dict[str, object]:
    """To a host that has nothing of it, from the first byte of the link until the last is written down."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        _fill(place / "spark", count)
        running = {"spark": await _start("spark", place / "spark", ["thor"], {})}
        try:
            running["thor"] = await _start("thor", place / "thor", ["spark"], running)
            await running["thor"].says(": linked", 1)
            began, before = time.perf_counter(), {host.name: host.cpu_s for host in running.values()}
            await until(lambda: _has(place / "thor" / "history", f"bench{count - 1:x}"))
            seconds = time.perf_counter() - began
            spent = {host.name: host.cpu_s - before[host.name] for host in running.values()}
        finally:
            for host in running.values():
                await _stop(host)
    return {
        "replayed messages per second": round(count / seconds),
        "CPU of who tells each, us": round(1e6 * spent["spark"] / count, 1),
        "CPU of who is told each, us": round(1e6 * spent["thor"] / count, 1),
    }


def _fill(home: Path, count: int) -> None:
    archive = Archive(home / "history")
    for start in range(0, count, 1000):
        archive.append(
            [
                EventRecord(
                    *(f"bench{number:x}", 1_700_000_000 + number / 100, "PRIVMSG", CHANNEL),
                    *("spark-ori!ori@spark", None, f"{TEXT} {number}"),
                    is_public=True,
                    seq=BOTTOM + number + 1,
                )
                for number in range(start, min(start + 1000, count))
            ]
        )
    file_all(archive)
    archive.close()


def _has(history: Path, msgid: str) -> bool:
    """Whether the last that was written down there is this message."""
    for path in sorted(history.glob("journal-*"))[-1:]:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 4096))
            return f"\t{msgid}\t".encode() in file.read()
    return False


async def _bytes(count: int) -> dict[str, object]:
    """On a link, per message that is said on one side."""
    passed = 0

    async def carry(source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
        nonlocal passed
        while data := await source.read(65536):
            passed += len(data)
            to.write(data)
        to.close()

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        other_reader, other = await asyncio.open_connection("127.0.0.1", running["spark"].port)
        await asyncio.gather(carry(reader, other), carry(other_reader, writer))

    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        running = {"spark": await _start("spark", place / "spark", ["thor"], {})}
        proxy = await asyncio.start_server(meet, "127.0.0.1", 0)
        try:
            through = proxy.sockets[0].getsockname()[1]
            running["thor"] = await _start("thor", place / "thor", ["spark"], running, through)
            await running["thor"].says(": linked", 1)
            sender = await plain_client(running["spark"].port, "spark-sender", CHANNEL)
            heard = 0
            done = asyncio.Event()

            def on_line(line: bytes, at: float) -> None:
                nonlocal heard
                heard += b" PRIVMSG " in line
                if heard == count:
                    done.set()

            await plain_client(running["thor"].port, "thor-reader", CHANNEL, on_line)
            await _everyone_is_in(running["thor"].port, "thor-look", 2)
            before = passed
            for _ in range(count):
                sender.send(f"PRIVMSG {CHANNEL} :{TEXT}".encode())
            async with asyncio.timeout(DEADLINE_S):
                await done.wait()
            used = passed - before
        finally:
            proxy.close()
            for host in running.values():
                await _stop(host)
    line = len(f":spark-sender!spark-sender@spark PRIVMSG {CHANNEL} :{TEXT}\r\n")
    return {"bytes on a link per message": round(used / count), "of which a client reads": line}


async def _load(rate: int, seconds: int) -> dict[str, object]:
    """Four hosts, each linked to all others, one client on each; what is said is said in turns."""
    with tempfile.TemporaryDirectory() as name:
        async with hosts([*combinations(NAMES, 2)], Path(name)) as running:
            clients: list[Plain] = []
            heard = 0

            def on_line(line: bytes, at: float) -> None:
                nonlocal heard
                heard += b" PRIVMSG " in line

            for host in running.values():
                clients.append(await plain_client(host.port, f"{host.name}-c", CHANNEL, on_line))
            await _everyone_is_in(running["ec2"].port, "ec2-look", 4)
            before = {host.name: host.cpu_s for host in running.values()}
            began, said = time.perf_counter(), 0
            while (elapsed := time.perf_counter() - began) < seconds:
                while said < elapsed * rate:
                    clients[said % len(clients)].send(f"PRIVMSG {CHANNEL} :{TEXT}".encode())
                    said += 1
                await asyncio.sleep(0.005)
            await until(lambda: heard >= said * (len(clients) - 1))
            spent = [host.cpu_s - before[host.name] for host in running.values()]
    return {
        f"CPU of each of 4 hosts at {rate}/s, %": round(100 * sum(spent) / len(spent) / seconds, 1),
        "lost or doubled": heard - said * (len(clients) - 1),
    }
