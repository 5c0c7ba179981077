"""One child process: started with sockets and a notify socket, listened to, and stopped."""

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

from culture.ctl import launch
from culture.ctl.output import Console
from culture.ctl.processes import Reaper, end_all, ours_with
from culture.ctl.store import Store
from culture.systemd.sockets import Passed

_MARK = "CULTURE_CHILD"
"""In the environment of a child and of all that it starts, so that what it leaves behind is found."""
_LINE_BYTES = 65536
_NOTIFICATION_BYTES = 4096
_FDS_AT_ONCE = 253  # unix(7), SCM_RIGHTS


@dataclass(frozen=True, slots=True)
class Service:
    """What a unit file would say about a child."""

    name: str
    command: tuple[str, ...]
    env: Mapping[str, str]
    notify: Path
    sockets: tuple[Passed, ...] = ()
    keeps: int = 0
    """How many sockets of its clients are kept while it is started again (FileDescriptorStoreMax=)."""
    stop_signal: signal.Signals = signal.SIGTERM
    start_s: float = 60.0
    stop_s: float = 10.0


def parse_notification(datagram: bytes) -> dict[str, str]:
    """The assignments in what a program tells its manager (sd_notify(3))."""
    lines = datagram.decode(errors="replace").split("\n")
    return dict(line.split("=", 1) for line in lines if "=" in line)


class Child:
    """A running process. Start it by `Child.start`, and always await `stop` afterwards."""

    def __init__(
        self, service: Service, console: Console, process: subprocess.Popen[bytes], store: Store
    ) -> None:
        self.service = service
        self._store = store
        self._told: socket.socket
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._console = console
        self._process = process
        self._silent = asyncio.Event()
        self._lines: asyncio.BaseTransport
        self.exited: asyncio.Future[int]

    @property
    def pid(self) -> int:
        return self._process.pid

    @classmethod
    async def start(cls, service: Service, reaper: Reaper, console: Console, store: Store) -> "Child":
        told = _notify_socket(service.notify)
        process = _spawn(service, store.kept)
        child = cls(service, console, process, store)
        child.exited = reaper.watch(process)
        await child._listen(told)
        return child

    async def _listen(self, told: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        self._told = told
        loop.add_reader(told.fileno(), self._hear)
        self._lines, _ = await loop.connect_read_pipe(
            lambda: _Lines(self._said, self._silent), self._process.stdout
        )

    def _hear(self) -> None:
        """All that it told."""
        with contextlib.suppress(BlockingIOError):
            while True:
                datagram, fds, _, _ = socket.recv_fds(self._told, _NOTIFICATION_BYTES, _FDS_AT_ONCE)
                what = parse_notification(datagram)
                # Also if they were not meant to be kept: they are open here now.
                self._store.put(what.get("FDNAME", "stored"), fds)
                self._notified(what)

    def _said(self, line: str) -> None:
        self._console.relay(self.service.name, self.pid, line)

    def _notified(self, what: Mapping[str, str]) -> None:
        status = what.get("STATUS", "")
        if what.get("READY") == "1" and not self.ready.done():
            self.ready.set_result(None)
            self._console.say(f"{self.service.name} is ready" + (f": {status}" if status else ""))
        elif status and not self.ready.done():
            self._console.say(f"{self.service.name} is starting: {status}")

    async def stop(self) -> None:
        """End it, and all that it started and left behind: asked first, then killed."""
        if not self.exited.done():
            self._process.send_signal(self.service.stop_signal)
            await asyncio.wait([self.exited], timeout=self.service.stop_s)
        if not self.exited.done():
            self._console.say(
                f"{self.service.name} did not stop within {self.service.stop_s:g} s: killing it"
            )
            self._process.kill()
        await self.exited
        await end_all(lambda: ours_with(_MARK, self.service.name))
        with contextlib.suppress(TimeoutError):
            # Its last words, usually the reason why it ended.
            async with asyncio.timeout(1.0):
                await self._silent.wait()
        self._lines.close()
        if self._told.fileno() >= 0:
            # What it gave away just before it ended is kept all the same.
            self._hear()
            asyncio.get_running_loop().remove_reader(self._told.fileno())
            self._told.close()
        self.service.notify.unlink(missing_ok=True)


def _notify_socket(path: Path) -> socket.socket:
    path.unlink(missing_ok=True)
    told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    told.bind(str(path))
    return told


def _spawn(service: Service, kept: Mapping[int, str]) -> subprocess.Popen[bytes]:
    named = {**{each.socket.fileno(): each.name for each in service.sockets}, **kept}
    fds = list(named)
    passed = {"LISTEN_FDS": str(len(fds)), "LISTEN_FDNAMES": ":".join(named.values())}
    told = {"NOTIFY_SOCKET": str(service.notify), _MARK: service.name}
    if service.keeps:
        told["FDSTORE"] = str(service.keeps)
    return subprocess.Popen(
        [
            *(sys.executable, "-I", "-S", launch.__file__),
            *(str(os.getpid()), ",".join(map(str, fds))),
            *service.command,
        ],
        env={**service.env, **told, **(passed if fds else {})},
        pass_fds=fds,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        # A Ctrl-C in the terminal is for us: the children are stopped in their order.
        start_new_session=True,
    )


class _Lines(asyncio.Protocol):
    """Cuts what a child writes into lines; one that never ends is cut where it gets too long."""

    def __init__(self, said: Callable[[str], None], silent: asyncio.Event) -> None:
        self._said = said
        self._silent = silent
        self._rest = b""

    def data_received(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > _LINE_BYTES:
            lines.append(self._rest)
            self._rest = b""
        for line in lines:
            self._said(line.decode(errors="replace"))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._rest:
            self._said(self._rest.decode(errors="replace"))
        self._silent.set()
