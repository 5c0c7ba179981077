"""Sockets that the service manager keeps while the service is restarted (sd_notify(3), FDSTORE=1).

What was put there comes back with the listening sockets, under the name that it was put by. The manager lets
go of a socket by itself as soon as both sides have shut it down.
"""

import array
import socket
from collections.abc import Mapping
from typing import Final

AT_ONCE: Final = 200
"""How many one message carries; the kernel takes 253 (unix(7), SCM_RIGHTS)."""


class FdStore:
    """`room` says how many it takes: 0 where there is no store.

    systemd tells it in $FDSTORE from version 254 on; for those before, the unit does.
    """

    def __init__(self, env: Mapping[str, str]) -> None:
        address, room = env.get("NOTIFY_SOCKET", ""), env.get("FDSTORE", "")
        self.room = int(room) if address and room.isdecimal() else 0
        # An address with an @ is in the abstract namespace (unix(7)).
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        self._waiting: dict[str, list[socket.socket]] = {}
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) if self.room else None

    @property
    def is_waiting(self) -> bool:
        return bool(self._waiting)

    def put(self, name: str, sock: socket.socket) -> None:
        """To be kept from the next `hand_over` on."""
        self._waiting.setdefault(name, []).append(sock)

    def hand_over(self, timeout_s: float = 0.0) -> bool:
        """Whether the manager has all of them. If it is busy, the rest is for the next time."""
        if self._socket is None:
            return True
        self._socket.settimeout(timeout_s)
        for name, waiting in list(self._waiting.items()):
            while waiting:
                if not self._send(name, waiting[:AT_ONCE]):
                    return False
                del waiting[:AT_ONCE]
            del self._waiting[name]
        return True

    def close(self) -> None:
        self._waiting.clear()
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _send(self, name: str, socks: list[socket.socket]) -> bool:
        assert self._socket is not None
        # What was closed meanwhile has no number any more.
        fds = [sock.fileno() for sock in socks if sock.fileno() >= 0]
        if not fds:
            return True
        told, rights = f"FDSTORE=1\nFDNAME={name}", array.array("i", fds)
        try:
            self._socket.sendmsg(
                [told.encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)], 0, self._address
            )
        except OSError:
            # It has not read what it was told before, or is just being replaced itself.
            return False
        return True
