"""Receive the sockets that systemd passes to this service (socket activation)."""

import socket
from collections.abc import Mapping
from dataclasses import dataclass

from culture.errors import UnavailableError


@dataclass(frozen=True, slots=True)
class Passed:
    """A socket from systemd, with its FileDescriptorName=."""

    name: str
    socket: socket.socket


def passed_sockets(env: Mapping[str, str]) -> list[Passed]:
    """Return the sockets that systemd passed, in order. A second call returns none."""
    if "LISTEN_FDS" not in env:
        return []
    try:
        # Compiled against libsystemd, so it is required only if systemd passes sockets.
        from systemd import daemon
    except ModuleNotFoundError:
        raise UnavailableError(
            "sockets were passed by the service manager, but the Python module 'systemd' is missing",
            hint="apt install python3-systemd",
        ) from None
    named = daemon.listen_fds_with_names(unset_environment=True)
    passed = [Passed(name, socket.socket(fileno=fd)) for fd, name in named.items()]
    for each in passed:
        each.socket.setblocking(False)
    return passed
