"""The programs that `culturectl up` starts, each as a service: what a unit file says, said in Python."""

import dataclasses
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from socket import socket

from culture.ctl.children import Service
from culture.errors import UnavailableError
from culture.systemd.sockets import Passed


def find_program(name: str) -> str:
    """The program that was installed with us: beside culturectl, beside our Python, or on PATH."""
    beside = [str(Path(program).parent) for program in (sys.argv[0], sys.executable)]
    found = shutil.which(name, path=":".join(beside)) or shutil.which(name)
    if found is None:
        raise UnavailableError(f"the program '{name}' is not installed", hint="install culture again")
    return str(Path(found).absolute())


_KEPT = 500
"""As many clients as a shell's limit of 1024 open files has room for (ulimit -n)."""


def notify_name(service: str) -> str:
    return f"{service}.notify"


@dataclass(frozen=True, slots=True)
class Services:
    """Makes the services of one home; `env` is what they all start from, `sockets` where they are heard."""

    sockets: Path
    env: Mapping[str, str]
    verbose: bool = False

    def rehearsal(self, listener: socket) -> Service:
        return self._service("culture-rehearsal", [], self.env, [Passed("http", listener)])

    def ircd(self, config: Path, listeners: Sequence[socket]) -> Service:
        options, passed = ["--config", str(config)], [Passed("irc", each) for each in listeners]
        env = {**self.env, "RUNTIME_DIRECTORY": str(self.sockets)}
        service = self._service("culture-ircd", options, env, passed)
        # To be terminated means to be started again, unless somebody says otherwise: an interrupt is the end.
        return dataclasses.replace(service, keeps=_KEPT, stop_signal=signal.SIGINT)

    def agent(self, nick: str, config: Path, listener: socket, env: Mapping[str, str]) -> Service:
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
