"""One booted host: start it, run commands in it, read its journal, talk to its sockets, end it."""

import contextlib
import ctypes
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from system.hostlab.cgroups import CONTROLLERS, private_cgroups
from system.hostlab.disk import disk

BOOT_TIMEOUT_S = 60
CLONE_NEWNET = 0x40000000
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "DEBIAN_FRONTEND": "noninteractive",
    "SYSTEMD_PAGER": "",
    "SYSTEMD_COLORS": "0",
}
# nspawn mounts the v1 controllers read-only, which silently switches off MemoryMax= and its like.
INIT = f"""#!/bin/sh
for controller in {" ".join(CONTROLLERS)}; do
    if [ -d /sys/fs/cgroup/$controller ]; then
        mount -o remount,bind,rw,nosuid,nodev,noexec /sys/fs/cgroup/$controller
    fi
done
exec /lib/systemd/systemd
"""


class Host:
    """A host that runs. Made by `booted`."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], leader: int, written: Path) -> None:
        self.name = name
        self.written = written
        self._process = process
        self.leader = leader

    def run(self, *argv: str, check: bool = True, timeout_s: float = 60) -> subprocess.CompletedProcess[str]:
        """Run a command as root, in a scope of the host's own as a login would be."""
        environment = [f"{key}={value}" for key, value in ENVIRONMENT.items()]
        scope = ["systemd-run", "--quiet", "--scope", "--collect", "--"]
        enter = ["nsenter", f"--target={self.leader}", "--all", "--", "env", "-i", *environment, *scope]
        done = subprocess.run(
            [*enter, *argv], text=True, capture_output=True, timeout=timeout_s, stdin=subprocess.DEVNULL
        )
        if check and done.returncode:
            said = done.stdout + done.stderr
            raise AssertionError(f"'{shlex.join(argv)}' on {self.name}: status {done.returncode}\n{said}")
        return done

    def systemctl(self, *arguments: str) -> str:
        return self.run("systemctl", *arguments).stdout

    def property(self, unit: str, name: str) -> str:
        return self.systemctl("show", "--value", f"--property={name}", unit).strip()

    def journal(self, *matches: str) -> list[dict[str, Any]]:
        """Entries of this boot, oldest first: `FIELD=value` or `--unit=…`."""
        text = self.run("journalctl", "--boot", "--output=json", "--no-pager", *matches).stdout
        return [json.loads(line) for line in text.splitlines()]

    def path(self, path: str) -> Path:
        """A path in the host as seen from outside, through its own mounts (/run, /tmp)."""
        return Path(f"/proc/{self.leader}/root{path}")

    def write(self, path: str, text: str) -> None:
        self.path(path).parent.mkdir(parents=True, exist_ok=True)
        self.path(path).write_text(text)

    def connect(self, port: int, host: str = "127.0.0.1") -> socket.socket:
        """A TCP connection made on the host's own loopback."""
        return _in_network_of(self.leader, lambda: socket.create_connection((host, port), timeout=10))

    def connect_unix(self, path: str) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(10)
        connection.connect(str(self.path(path)))
        return connection

    def power_off(self) -> None:
        """In good order: services stop, the disk is complete."""
        # systemd(1): SIGRTMIN+4 starts poweroff.target.
        os.kill(self.leader, signal.SIGRTMIN + 4)
        self._process.wait(timeout=30)

    def cut_power(self) -> None:
        if self._process.poll() is not None:
            return
        # It is PID 1 of its namespace: everything in it dies with it. nspawn alone would leave it behind.
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.leader, signal.SIGKILL)
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(timeout=10)


@contextlib.contextmanager
def booted(
    name: str, directory: Path, lower: Sequence[Path], read_only: dict[Path, str] | None = None
) -> Iterator[Host]:
    """A host that completed its boot, with no network but loopback.

    `read_only` maps files here to paths there.
    """
    machine = f"culture-{os.getpid()}-{directory.name}"
    with contextlib.ExitStack() as undo:
        made = undo.enter_context(disk(directory, lower))
        cgroups = undo.enter_context(private_cgroups(machine))
        undo.callback(shutil.rmtree, f"/run/systemd/nspawn/propagate/{machine}", ignore_errors=True)
        command = _nspawn(machine, name, made.root, _write_init(directory), read_only or {})
        # Closed once it has booted: nobody reads it any more, and what a newer systemd tells at each reload
        # would fill it, and make the host stand still.
        with _notify_socket(directory / "notify") as notify:
            process = _start_in(cgroups, command, directory)
            undo.callback(_end, process)
            leader = _wait_for_boot(process, notify, directory)
        host = Host(name, process, leader, made.written)
        undo.callback(host.cut_power)
        yield host


def _nspawn(machine: str, hostname: str, root: Path, init: Path, read_only: dict[Path, str]) -> list[str]:
    return [
        "systemd-nspawn",
        "--quiet",
        f"--directory={root}",
        f"--machine={machine}",
        f"--hostname={hostname}",
        "--private-network",
        # There may be no machined, no D-Bus and no systemd outside.
        "--register=no",
        "--keep-unit",
        # What --boot would imply; it would also pass its own idea of PID 1.
        "--kill-signal=SIGRTMIN+3",
        "--notify-ready=yes",
        "--link-journal=no",
        "--resolv-conf=off",
        "--timezone=off",
        "--console=pipe",
        # Without bpf() IPAddressDeny= is silently not enforced.
        "--system-call-filter=bpf @keyring",
        "--capability=CAP_BPF,CAP_PERFMON,CAP_NET_ADMIN",
        *(f"--bind-ro={outside}:{inside}" for outside, inside in read_only.items()),
        f"--bind-ro={init}:/.init",
        "/.init",
    ]


def _write_init(directory: Path) -> Path:
    init = directory / "init"
    init.write_text(INIT)
    init.chmod(0o755)
    return init


def _start_in(cgroups: Sequence[Path], command: Sequence[str], directory: Path) -> subprocess.Popen[bytes]:
    enter = "".join(f"echo $$ > {shlex.quote(str(cgroup / 'cgroup.procs'))}; " for cgroup in cgroups)
    environment = {"PATH": os.environ["PATH"], "NOTIFY_SOCKET": str(directory / "notify")}
    with (directory / "console").open("wb") as console:
        return subprocess.Popen(
            ["sh", "-ec", f'{enter} exec "$@"', "sh", *command],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=console,
            start_new_session=True,
        )


def _wait_for_boot(process: subprocess.Popen[bytes], notify: socket.socket, directory: Path) -> int:
    """The pid of the host's PID 1, once its boot is complete: nspawn tells both."""
    leader, deadline = None, time.monotonic() + BOOT_TIMEOUT_S
    while process.poll() is None and time.monotonic() < deadline:
        try:
            told = notify.recv(4096).decode()
        except TimeoutError:
            continue
        if found := re.search(r"^X_NSPAWN_LEADER_PID=([0-9]+)", told, re.MULTILINE):
            leader = int(found[1])
        if leader is not None and re.search(r"^READY=1$", told, re.MULTILINE):
            return leader
    if leader is not None:
        os.kill(leader, signal.SIGKILL)
    raise AssertionError(f"the host did not boot:\n{(directory / 'console').read_text(errors='replace')}")


@contextlib.contextmanager
def _notify_socket(path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.bind(str(path))
        notify.settimeout(0.5)
        yield notify


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()
    process.wait(timeout=10)


def _in_network_of(pid: int, make: Callable[[], socket.socket]) -> socket.socket:
    """A socket belongs to the network that it was made in, and a thread can enter another one."""

    def enter_and_make() -> socket.socket:
        with open(f"/proc/{pid}/ns/net") as namespace:
            if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "setns")
        return make()

    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(enter_and_make).result()
