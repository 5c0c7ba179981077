"""culture-ircd under a manager that keeps its sockets over a restart, as systemd does."""

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from culture.ctl.up import launch
from culture.ctl.up.child_process import parse_notification
from culture.ctl.up.fd_store import ChildFdStore

DEADLINE_S = 40.0


class Manager:
    """Start, kill and start it again. It listens by TCP, and on the unix socket `ircd.sock`."""

    def __init__(
        self, directory: Path, name: str, config: str, listeners: dict[str, socket.socket], room: int
    ) -> None:
        self.directory = directory
        self.name = name
        self.listeners = listeners
        self._config = directory / "ircd.yaml"
        self._config.write_text(f"name: {name}\nlisten: []\nstate_dir: {directory}\n{config}")
        self._room = room
        self.store = ChildFdStore(room)
        self._told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._told.bind(str(directory / "notify"))
        self._told.setblocking(False)
        self._ready, self._heard = asyncio.Event(), asyncio.Event()
        self.process: asyncio.subprocess.Process

    def port(self, name: str = "irc") -> int:
        port: int = self.listeners[name].getsockname()[1]
        return port

    def connect_unix(self) -> socket.socket:
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(str(self.directory / "ircd.sock"))
        return sock

    @property
    def journal(self) -> str:
        return (self.directory / "log").read_text()

    async def start(self) -> None:
        named = {each.fileno(): name for name, each in self.listeners.items()} | self.store.fds
        env = {
            **os.environ,
            "NOTIFY_SOCKET": str(self.directory / "notify"),
            "RUNTIME_DIRECTORY": str(self.directory),
            "CREDENTIALS_DIRECTORY": str(self.directory / "credentials"),
            "FDSTORE": str(self._room),
            "LISTEN_FDS": str(len(named)),
            "LISTEN_FDNAMES": ":".join(named.values()),
        }
        self._ready.clear()
        with (self.directory / "log").open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", launch.__file__, str(os.getpid()), ",".join(map(str, named))),
                *(sys.executable, "-m", "culture.daemons.ircd", "--config", str(self._config)),
                env=env,
                pass_fds=list(named),
                stdout=log,
                stderr=log,
            )
        asyncio.get_running_loop().add_reader(self._told.fileno(), self.hear)
        async with asyncio.timeout(DEADLINE_S):
            await self._ready.wait()

    async def keeps(self, count: int) -> None:
        """Wait until it has so many sockets: they come a moment after their clients."""
        await self._until(lambda: len(self.store.fds) >= count)

    async def keeps_client(self, port: int) -> None:
        """Wait until it has the socket of who connected from this port."""
        await self._until(lambda: port in map(_peer_port, self.store.fds))

    async def _until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while not is_so():
                self._heard.clear()
                await self._heard.wait()

    async def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        async with asyncio.timeout(DEADLINE_S):
            status = await self.process.wait()
        self.hear()
        return status

    async def restart(self) -> None:
        assert await self.end(signal.SIGTERM) == 0
        await self.start()

    async def crash(self) -> None:
        await self.end(signal.SIGKILL)
        await self.start()

    def hear(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                datagram, fds, _, _ = socket.recv_fds(self._told, 4096, 253)
                what = parse_notification(datagram)
                self.store.put(what.get("FDNAME", ""), fds)
                self._heard.set()
                if "READY" in what:
                    self._ready.set()

    async def close(self) -> None:
        if self.process.returncode is None:
            self.process.kill()
            await self.process.wait()
        asyncio.get_running_loop().remove_reader(self._told.fileno())
        self._told.close()
        self.store.close()


@contextlib.asynccontextmanager
async def managed(
    directory: Path,
    config: str = "",
    names: tuple[str, ...] = ("irc",),
    room: int = 100,
    name: str = "spark",
) -> AsyncIterator[Manager]:
    with contextlib.ExitStack() as opened:
        listeners = {name: opened.enter_context(socket.create_server(("127.0.0.1", 0))) for name in names}
        unix = listeners["irc-unix"] = opened.enter_context(socket.socket(socket.AF_UNIX))
        unix.bind(str(directory / "ircd.sock"))
        unix.listen()
        manager = Manager(directory, name, config, listeners, room)
        await manager.start()
        try:
            yield manager
        finally:
            await manager.close()


def _peer_port(kept: int) -> int:
    """0 of a unix socket, and of a connection that is over."""
    with socket.socket(fileno=os.dup(kept)) as sock, contextlib.suppress(OSError):
        peer = sock.getpeername()
        return int(peer[1]) if isinstance(peer, tuple) else 0
    return 0
