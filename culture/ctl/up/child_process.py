"""Run one child process as systemd would: pass it sockets, read its notifications and stop it."""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from culture.ctl.up import launch
from culture.ctl.up.console import Console
from culture.ctl.up.fd_store import ChildFdStore
from culture.ctl.up.processes import Reaper, descendants_with_env, kill_until_gone
from culture.systemd.sockets import Passed

# An environment variable that a child and its descendants inherit, so that orphans can be found.
_MARK = "CULTURE_CHILD"
_LINE_BYTES = 65536
_NOTIFICATION_BYTES = 4096
_FDS_AT_ONCE = 253  # unix(7), SCM_RIGHTS


@dataclass(frozen=True, slots=True)
class Service:
    """The settings of a child process, as in a unit file."""

    name: str
    command: tuple[str, ...]
    env: Mapping[str, str]
    notify: Path
    sockets: tuple[Passed, ...] = ()
    # How many file descriptors are stored for it across restarts (FileDescriptorStoreMax=).
    fd_store_max: int = 0
    stop_signal: signal.Signals = signal.SIGTERM
    start_s: float = 60.0
    stop_s: float = 10.0


def parse_notification(datagram: bytes) -> dict[str, str]:
    """Return the assignments in a notification (sd_notify(3))."""
    lines = datagram.decode(errors="replace").split("\n")
    return dict(line.split("=", 1) for line in lines if "=" in line)


class Child:
    """A running process. Call `Child.start`, and always await `stop` afterwards."""

    def __init__(
        self, service: Service, console: Console, process: subprocess.Popen[bytes], store: ChildFdStore
    ) -> None:
        self.service = service
        self._store = store
        self._notify_socket: socket.socket
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._console = console
        self._process = process
        self._output_ended = asyncio.Event()
        self._output: asyncio.BaseTransport
        self.exited: asyncio.Future[int]

    @property
    def pid(self) -> int:
        """Return the process id."""
        return self._process.pid

    @classmethod
    async def start(cls, service: Service, reaper: Reaper, console: Console, store: ChildFdStore) -> "Child":
        """Start a process and begin to read its output and its notifications."""
        notify_socket = _bind_notify_socket(service.notify)
        process = _spawn(service, store.fds)
        child = cls(service, console, process, store)
        child.exited = reaper.watch(process)
        await child._listen(notify_socket)
        return child

    async def _listen(self, notify_socket: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        self._notify_socket = notify_socket
        loop.add_reader(notify_socket.fileno(), self._read_notifications)
        self._output, _ = await loop.connect_read_pipe(
            lambda: _LineReader(self._on_line, self._output_ended), self._process.stdout
        )

    def _read_notifications(self) -> None:
        """Read all notifications that have arrived."""
        with contextlib.suppress(BlockingIOError):
            while True:
                datagram, fds, _, _ = socket.recv_fds(self._notify_socket, _NOTIFICATION_BYTES, _FDS_AT_ONCE)
                fields = parse_notification(datagram)
                # Also without FDSTORE=1: the descriptors are open here, so the store must own them.
                self._store.put(fields.get("FDNAME", "stored"), fds)
                self._on_notification(fields)

    def _on_line(self, line: str) -> None:
        self._console.relay(self.service.name, self.pid, line)

    def _on_notification(self, fields: Mapping[str, str]) -> None:
        status = fields.get("STATUS", "")
        if fields.get("READY") == "1" and not self.ready.done():
            self.ready.set_result(None)
            self._console.say(f"{self.service.name} is ready" + (f": {status}" if status else ""))
        elif status and not self.ready.done():
            self._console.say(f"{self.service.name} is starting: {status}")

    async def stop(self) -> None:
        """Stop the process by its stop signal, or kill it after stop_s, and kill what it left running."""
        if not self.exited.done():
            self._process.send_signal(self.service.stop_signal)
            await asyncio.wait([self.exited], timeout=self.service.stop_s)
        if not self.exited.done():
            self._console.say(
                f"{self.service.name} did not stop within {self.service.stop_s:g} s; killing it"
            )
            self._process.kill()
        await self.exited
        await kill_until_gone(lambda: descendants_with_env(_MARK, self.service.name))
        with contextlib.suppress(TimeoutError):
            # Wait for its last output, which usually says why it ended.
            async with asyncio.timeout(1.0):
                await self._output_ended.wait()
        self._output.close()
        if self._notify_socket.fileno() >= 0:
            # Store the descriptors that it sent just before it ended.
            self._read_notifications()
            asyncio.get_running_loop().remove_reader(self._notify_socket.fileno())
            self._notify_socket.close()
        self.service.notify.unlink(missing_ok=True)


def _bind_notify_socket(path: Path) -> socket.socket:
    path.unlink(missing_ok=True)
    notify_socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    notify_socket.bind(str(path))
    return notify_socket


def _spawn(service: Service, stored: Mapping[int, str]) -> subprocess.Popen[bytes]:
    names = {**{each.socket.fileno(): each.name for each in service.sockets}, **stored}
    fds = list(names)
    passed = {"LISTEN_FDS": str(len(fds)), "LISTEN_FDNAMES": ":".join(names.values())}
    manager = {"NOTIFY_SOCKET": str(service.notify), _MARK: service.name}
    if service.fd_store_max:
        manager["FDSTORE"] = str(service.fd_store_max)
    return subprocess.Popen(
        [
            *(sys.executable, "-I", "-S", launch.__file__),
            *(str(os.getpid()), ",".join(map(str, fds))),
            *service.command,
        ],
        env={**service.env, **manager, **(passed if fds else {})},
        pass_fds=fds,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        # Ctrl-C in the terminal must not reach the children: culturectl stops them in order.
        start_new_session=True,
    )


class _LineReader(asyncio.Protocol):
    """Splits the output of a child into lines, and lines over _LINE_BYTES into pieces."""

    def __init__(self, on_line: Callable[[str], None], ended: asyncio.Event) -> None:
        self._on_line = on_line
        self._ended = ended
        self._rest = b""

    def data_received(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > _LINE_BYTES:
            lines.append(self._rest)
            self._rest = b""
        for line in lines:
            self._on_line(line.decode(errors="replace"))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._rest:
            self._on_line(self._rest.decode(errors="replace"))
        self._ended.set()
