"""The services that `culturectl up` runs, as unit files would define them."""

import dataclasses
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from socket import socket

from culture.ctl.up.child_process import Service
from culture.errors import UnavailableError
from culture.systemd.sockets import Passed


def find_program(name: str) -> str:
    """Return the path of a program: beside culturectl, beside the Python interpreter, or on PATH."""
    beside = [str(Path(program).parent) for program in (sys.argv[0], sys.executable)]
    found = shutil.which(name, path=":".join(beside)) or shutil.which(name)
    if found is None:
        raise UnavailableError(f"the program '{name}' is not installed", hint="reinstall culture")
    return str(Path(found).absolute())


# As many clients as a shell's limit of 1024 open files has room for (ulimit -n).
_FD_STORE_MAX = 500


def notify_name(service: str) -> str:
    """Return the file name of a service's notification socket."""
    return f"{service}.notify"


@dataclass(frozen=True, slots=True)
class Services:
    """Builds the services of one home."""

    # The directory of the notification sockets and of the server's runtime files.
    sockets: Path
    # The environment that all services start with.
    env: Mapping[str, str]
    verbose: bool = False

    def rehearsal(self, listener: socket) -> Service:
        """Return the service of the scripted model."""
        return self._service("culture-rehearsal", [], self.env, [Passed("http", listener)])

    def ircd(self, config: Path, listeners: Sequence[socket]) -> Service:
        """Return the service of the IRC server."""
        options, passed = ["--config", str(config)], [Passed("irc", each) for each in listeners]
        env = {**self.env, "RUNTIME_DIRECTORY": str(self.sockets)}
        service = self._service("culture-ircd", options, env, passed)
        # The server keeps its clients for a restart when it gets SIGTERM; SIGINT makes it disconnect them.
        return dataclasses.replace(service, fd_store_max=_FD_STORE_MAX, stop_signal=signal.SIGINT)

    def agent(self, nick: str, config: Path, listener: socket, env: Mapping[str, str]) -> Service:
        """Return the service of one agent."""
        own = {**env, "CULTURE_SOCKET": listener.getsockname()}
        options = [nick, "--config", str(config)]
        return self._service("culture-agent", options, own, [Passed("ipc", listener)], instance=nick)

    def _service(
        self,
        program: str,
        options: Sequence[str],
        env: Mapping[str, str],
        sockets: Sequence[Passed],
        instance: str = "",
    ) -> Service:
        name = f"{program}@{instance}" if instance else program
        return Service(
            name=name,
            command=(find_program(program), *options, *(["--verbose"] if self.verbose else [])),
            env=env,
            notify=self.sockets / notify_name(name),
            sockets=tuple(sockets),
        )
