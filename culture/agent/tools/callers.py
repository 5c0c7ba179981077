"""Tell a person who uses the agent's socket from a process that the agent itself started."""

import os
import pwd
import socket
import struct
from pathlib import Path
from typing import Final, NamedTuple

from culture.agent.tools.whispers import PROOF_VARIABLE
from culture.errors import NotAllowedError

# The unit of an agent, in the path of a control group.
_UNIT: Final = "culture-agent@"


class Caller(NamedTuple):
    """The process at the other end of the socket, as the kernel knows it."""

    pid: int
    uid: int


def caller_of(connection: socket.socket) -> Caller:
    """Return the process that opened a connection (SO_PEERCRED in unix(7))."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid, uid, _ = struct.unpack("3i", credentials)
    return Caller(pid, uid)


def person_at(caller: Caller, proc: Path = Path("/proc")) -> str:
    """Return the name of the user who calls. Raise NotAllowedError if the agent itself may be the caller.

    Another user than the agent's is a person. The agent's own user may be shared with a person, so the
    process must not be in the agent's control group, not descend from the daemon, nor have its environment.
    """
    if caller.uid == os.geteuid() and _is_own(caller.pid, proc):
        hint = "ask a person, who can do it on IRC, or with culturectl as root"
        raise NotAllowedError("an agent may not do this to itself; only people may", hint=hint)
    try:
        return pwd.getpwuid(caller.uid).pw_name
    except KeyError:
        return str(caller.uid)


def _is_own(pid: int, proc: Path) -> bool:
    try:
        group, own_group = _control_group(proc / str(pid)), _control_group(proc / "self")
        variables = (proc / str(pid) / "environ").read_bytes()
        return (
            (_UNIT in own_group and (group == own_group or group.startswith(f"{own_group}/")))
            or f"{PROOF_VARIABLE}=".encode() in variables
            or os.getpid() in _ancestors(pid, proc)
        )
    except (OSError, ValueError):
        # The process is gone, or hides: nothing proves that it is not the agent's.
        return True


def _control_group(process: Path) -> str:
    return (process / "cgroup").read_text().strip()


def _ancestors(pid: int, proc: Path) -> list[int]:
    """Return the process and those that it descends from."""
    found = []
    while pid > 0:
        found.append(pid)
        # The name of a program, in parentheses, may contain anything (proc_pid_stat(5)).
        pid = int((proc / str(pid) / "stat").read_text().rpartition(")")[2].split()[1])
    return found
