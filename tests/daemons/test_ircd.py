"""culture-ircd as a process: its command line, its exit status, and how it gets on with a service manager."""

import asyncio
import contextlib
import dataclasses
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from support.irc import Plain

from culture.config.ircd import IrcdConfig

IRCD = [sys.executable, "-m", "culture.daemons.ircd"]
DEADLINE_S = 20
BROKEN = (
    "motd: [broken\n",
    "limits: {clients: !!int ''}\n",
    "accounts: {required: !!bool foo}\n",
    "[" * 2000,
)

# Passes fd 3 as systemd would: LISTEN_PID is the pid of the program itself.
ACTIVATE = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ |= {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1", "LISTEN_FDNAMES": "irc"}
os.execv(sys.argv[2], sys.argv[2:])
"""


def check(config: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [*IRCD, "--config", str(config), *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False)


def test_check_accepts_a_good_file_and_says_nothing(tmp_path: Path):
    config = tmp_path / "ircd.yaml"
    config.write_text("name: spark\n")
    done = check(config, "--check")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_check_reports_every_problem_with_file_line_and_hint(tmp_path: Path):
    config = tmp_path / "ircd.yaml"
    config.write_text("nam: spark\nlisten: 6667\nlimits:\n  targets: many\n")
    done = check(config, "--check")
    known = [field.name for field in dataclasses.fields(IrcdConfig)]
    assert done.returncode == 78
    assert done.stderr.splitlines() == [
        f"culture-ircd: {config}:1: unknown key 'nam'",
        f"hint: did you mean 'name'? known keys: {', '.join(known)}",
        f"culture-ircd: {config}:2: 'listen': expected a list, found '6667'",
        f"culture-ircd: {config}:4: 'limits.targets': expected a whole number, found 'many'",
    ]


def test_a_missing_file_is_66(tmp_path: Path):
    done = check(tmp_path / "none.yaml")
    assert done.returncode == 66
    assert done.stderr.startswith(f"culture-ircd: '{tmp_path}/none.yaml' is not there\nhint: ")


def test_a_taken_port_is_69_and_names_the_port(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        config = tmp_path / "ircd.yaml"
        config.write_text(f"listen: ['127.0.0.1:{port}']\n")
        done = check(config)
    assert done.returncode == 69
    assert done.stderr == (
        f"culture-ircd: cannot listen on 127.0.0.1:{port}: Address already in use\n"
        f"hint: ss -tlnp 'sport = :{port}'\n"
    )


@contextlib.asynccontextmanager
async def activated(tmp_path: Path) -> AsyncIterator[tuple[asyncio.subprocess.Process, socket.socket, int]]:
    """The server with a passed socket, under a manager that hears its notifications."""
    config = tmp_path / "ircd.yaml"
    config.write_text(f"name: spark\nlisten: []\nstate_dir: {tmp_path}\n")
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(str(tmp_path / "notify"))
    manager.setblocking(False)
    with manager, socket.create_server(("127.0.0.1", 0)) as listener:
        env = {
            **os.environ,
            "NOTIFY_SOCKET": str(tmp_path / "notify"),
            "WATCHDOG_USEC": "300000",
        }
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", ACTIVATE, str(listener.fileno()), *IRCD, "--config", str(config)),
            env=env,
            pass_fds=[listener.fileno()],
        )
        try:
            yield process, manager, listener.getsockname()[1]
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()


async def heard(manager: socket.socket, part: str) -> str:
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(DEADLINE_S):
        while part not in (text := (await loop.sock_recv(manager, 4096)).decode()):
            pass
    return text


async def test_it_adopts_the_sockets_it_is_passed_and_tells_its_manager(tmp_path: Path):
    async with activated(tmp_path) as (process, manager, port):
        assert await heard(manager, "READY=1") == "READY=1\nSTATUS=spark: 0 clients in 0 channels"
        plain = Plain(*await asyncio.open_connection("127.0.0.1", port))
        plain.send("NICK spark-ori", "USER o 0 * :o", "JOIN #a")
        await plain.until(" 366 ")
        await heard(manager, "STATUS=spark: 1 client in 1 channel")
        await heard(manager, "WATCHDOG=1")
        process.send_signal(signal.SIGTERM)
        assert await plain.until("ERROR") == "ERROR :Closing Link: spark (Server is stopping)"
        await heard(manager, "STOPPING=1")
        assert await asyncio.wait_for(process.wait(), DEADLINE_S) == 0
        await plain.close()


async def test_a_loop_that_hangs_stops_feeding_the_watchdog(tmp_path: Path):
    async with activated(tmp_path) as (process, manager, _):
        await heard(manager, "WATCHDOG=1")
        process.send_signal(signal.SIGSTOP)
        with contextlib.suppress(BlockingIOError):
            while manager.recv(4096):
                pass
        loop = asyncio.get_running_loop()
        try:
            await asyncio.wait_for(loop.sock_recv(manager, 4096), 1)
            said = True
        except TimeoutError:
            said = False
        process.send_signal(signal.SIGCONT)
        assert not said


async def test_a_reload_takes_what_is_new_and_keeps_the_old_when_it_is_wrong(tmp_path: Path):
    async with activated(tmp_path) as (process, manager, port):
        await heard(manager, "READY=1")
        plain = Plain(*await asyncio.open_connection("127.0.0.1", port))
        plain.send("NICK spark-ori", "USER o 0 * :o")
        await plain.until(" 422 ")
        config = tmp_path / "ircd.yaml"
        for text in (config.read_text() + "motd: hello again\n", *BROKEN):
            config.write_text(text)
            process.send_signal(signal.SIGHUP)
            await heard(manager, "RELOADING=1")
            await heard(manager, "READY=1")
            plain.send("MOTD")
            assert await plain.until(" 372 ") == ":spark 372 spark-ori :- hello again"
        await plain.close()


def test_a_state_directory_that_cannot_be_made_is_77(tmp_path: Path):
    config = tmp_path / "ircd.yaml"
    config.write_text(f"state_dir: {config}/state\n")
    done = check(config)
    assert done.returncode == 77
    assert done.stderr.startswith(f"culture-ircd: cannot make '{config}/state': Not a directory\nhint: ")


def test_a_wrong_option_is_64_with_a_hint(tmp_path: Path):
    done = check(tmp_path / "ircd.yaml", "--chekc")
    assert done.returncode == 64
    assert done.stderr == "culture-ircd: unrecognized arguments: --chekc\nhint: culture-ircd --help\n"
