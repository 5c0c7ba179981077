"""Run commands on hosts of the fleet, by the system's ssh."""

import shlex
import subprocess
from collections.abc import Sequence
from typing import Final, NamedTuple

from culture.config.fleet.model import HostConfig
from culture.errors import UnavailableError

# Exit status of ssh itself: the host was not reached, or the connection was lost.
NOT_REACHED: Final = 255
_OPTIONS: Final = (
    # Nobody is there to type a password.
    *("-o", "BatchMode=yes"),
    *("-o", "ConnectTimeout=10"),
    # A connection that is cut is noticed within 15 seconds.
    *("-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"),
    # Every command has a connection of its own: an old one may work where a new one would not.
    *("-o", "ControlMaster=no", "-o", "ControlPath=none"),
    "-T",
)


class Answer(NamedTuple):
    """What a command on a host printed, and its exit status."""

    status: int
    out: str
    error: str

    @property
    def is_reached(self) -> bool:
        """Return whether the command ran at all."""
        return self.status != NOT_REACHED


def run_on(host: HostConfig, command: Sequence[str], *, data: bytes = b"", timeout_s: float = 60) -> Answer:
    """Run a command on a host as root, over a new connection. `data` is its standard input."""
    user = host.ssh_target.rpartition("@")[0]
    words = [*(["sudo", "-n"] if user not in ("", "root") else []), *command]
    ssh = ["ssh", *_OPTIONS, "--", host.ssh_target, shlex.join(words)]
    try:
        done = subprocess.run(ssh, input=data, capture_output=True, timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired:
        return Answer(NOT_REACHED, "", f"no answer within {timeout_s:g} s")
    except OSError as error:
        hint = "apt install openssh-client"
        raise UnavailableError(f"cannot run ssh: {error.strerror}", hint=hint) from None
    return Answer(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))
