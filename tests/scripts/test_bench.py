"""scripts/bench ircd: the generator believes nothing that it has not verified, and nothing is left behind."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "scripts/benchmarks"
FANOUT = ("fanout", "--receivers", "2", "--window", "4", "--seconds", "0.2")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not installed"),
]

Lines = list[bytes]
# What a member gets instead of the line with this number.
Lie = Callable[[int, bytes], Lines]


@pytest.fixture(scope="module")
def generator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("bench") / "load"
    strict = ("-O2", "-Wall", "-Wextra", "-Werror")
    subprocess.run(["gcc", *strict, "-o", program, *BENCHMARKS.glob("*.c")], check=True, timeout=60)
    return program


class Liar:
    """The least of an IRC server: one channel, and one member who may get something else than was said."""

    def __init__(self, lie: Lie) -> None:
        self._lie = lie
        self._members: dict[str, asyncio.StreamWriter] = {}
        self._said = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nick = ""
        while line := (await reader.readline()).strip():
            command, _, rest = line.decode().partition(" ")
            match command:
                case "NICK":
                    nick = rest
                case "USER":
                    writer.write(f":liar 422 {nick} :no greeting\r\n".encode())
                case "JOIN":
                    self._members[nick] = writer
                    writer.write(f":liar 366 {nick} {rest} :end\r\n".encode())
                case "PING":
                    writer.write(f":liar PONG liar :{rest}\r\n".encode())
                case "PRIVMSG":
                    self._deliver(nick, line)
        writer.close()

    def _deliver(self, sender: str, line: bytes) -> None:
        said, number = f":{sender}!u@h ".encode() + line + b"\r\n", self._said
        self._said += 1
        for nick, writer in self._members.items():
            if nick != sender:
                lines = self._lie(number, said) if nick == "n2" else [said]
                writer.writelines(lines)


async def load(generator: Path, port: int, *arguments: str) -> dict:
    process = await asyncio.create_subprocess_exec(
        generator, *arguments, "--port", str(port), stdout=asyncio.subprocess.PIPE
    )
    answer, _ = await process.communicate()
    told = json.loads(answer)
    assert process.returncode == ("error" in told)
    return told


async def load_liar(generator: Path, lie: Lie) -> dict:
    server = await asyncio.start_server(Liar(lie).serve, "127.0.0.1", 0)
    async with server:
        return await load(generator, server.sockets[0].getsockname()[1], *FANOUT)


async def test_what_is_delivered_in_order_counts(generator: Path):
    told = await load_liar(generator, lambda number, line: [line])

    assert told["deliveries"] > 0
    assert told["per_s"] > 0


@pytest.mark.parametrize(
    ("lie", "error"),
    [
        (lambda number, line: [] if number == 5 else [line], "n2: number 6 of n0 instead of 5"),
        (lambda number, line: [line] * (1 + (number == 5)), "n2: number 5 of n0 instead of 6"),
        (lambda number, line: [line.replace(b":n0!", b":n1!")], "n2: a message that n0 did not send"),
        (lambda number, line: [line.replace(b"..\r", b"\r")], "n2: :n0!u@h PRIVMSG #c0 :"),
        (lambda number, line: [line.replace(b"#c0", b"#c1")], "n2: :n0!u@h PRIVMSG #c1 :"),
        (lambda number, line: [b":liar 404 n2 #c0 :no\r\n"], "n2: :liar 404 n2 #c0 :no"),
        (lambda number, line: [b"ERROR :too fast\r\n"], "n2: ERROR :too fast"),
    ],
    ids=["lost", "twice", "from another", "cut", "to another", "refused", "closed"],
)
async def test_anything_else_fails_the_run(generator: Path, lie: Lie, error: str):
    told = await load_liar(generator, lie)

    assert told["error"].startswith(error)


async def test_a_server_that_is_not_there_fails_the_run(generator: Path):
    server = await asyncio.start_server(Liar(lambda number, line: [line]).serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()

    assert await load(generator, port, *FANOUT) == {
        "scenario": "fanout",
        "error": "cannot connect: Connection refused",
    }


def bench(home: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, BENCHMARKS, "ircd", "--peers", "none", "--json", *arguments],
        env={**os.environ, "XDG_CACHE_HOME": str(home / "cache"), "TMPDIR": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_our_server_is_measured_with_the_real_programs(tmp_path: Path):
    figures = {"pairs": "per_s", "latency": "p99_ms", "attack-silent": "p99_ms", "connect": "client_bytes"}
    few = [word for name in figures for word in ("--only", name)]

    answer, said = bench(tmp_path, "--repeat", "1", "--seconds", "0.1", *few).communicate(timeout=50)

    scenarios = json.loads(answer)["scenarios"]
    for scenario, key in figures.items():
        assert scenarios[scenario]["figures"][key]["servers"]["culture"]["median"] > 0, said


def is_alive(pid: str) -> bool:
    try:
        return Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_stops_it_has_nothing_to_clean_up(tmp_path: Path, number: signal.Signals):
    running = bench(tmp_path, "--only", "pairs", "--seconds", "300")
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
    # Two at a time: the server that is measured, and the generator.
    while running.poll() is None and len(started := children.read_text().split()) < 2:
        os.sched_yield()

    running.send_signal(number)
    running.communicate(timeout=30)

    while any(is_alive(pid) for pid in started):
        os.sched_yield()
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]
