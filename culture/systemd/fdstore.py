"""Store sockets in systemd's file descriptor store over a restart (sd_notify(3), FDSTORE=1).

systemd passes stored sockets to the next process with the listening sockets, under the names they were stored
by. It drops a socket by itself once both sides have shut it down.
"""

import array
import socket
from collections.abc import Mapping
from typing import Final

# File descriptors per message; the kernel allows 253 (unix(7), SCM_RIGHTS).
FDS_PER_MESSAGE: Final = 200


class FdStore:
    """The file descriptor store of this service. `room` is its capacity, 0 without a store.

    systemd sets $FDSTORE from version 254 on; for earlier versions the unit sets it.
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
        """Return whether sockets wait to be sent."""
        return bool(self._waiting)

    def put(self, name: str, sock: socket.socket) -> None:
        """Queue a socket for the next `hand_over`."""
        self._waiting.setdefault(name, []).append(sock)

    def hand_over(self, timeout_s: float = 0.0) -> bool:
        """Send queued sockets to systemd, and return whether it took all. The next call sends the rest."""
        if self._socket is None:
            return True
        self._socket.settimeout(timeout_s)
        for name, waiting in list(self._waiting.items()):
            while waiting:
                if not self._send(name, waiting[:FDS_PER_MESSAGE]):
                    return False
                del waiting[:FDS_PER_MESSAGE]
            del self._waiting[name]
        return True

    def close(self) -> None:
        """Drop queued sockets and stop sending."""
        self._waiting.clear()
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _send(self, name: str, socks: list[socket.socket]) -> bool:
        assert self._socket is not None
        # Skip sockets that were closed meanwhile.
        fds = [sock.fileno() for sock in socks if sock.fileno() >= 0]
        if not fds:
            return True
        message, rights = f"FDSTORE=1\nFDNAME={name}", array.array("i", fds)
        try:
            self._socket.sendmsg(
                [message.encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)], 0, self._address
            )
        except OSError:
            # systemd has not read earlier messages, or is re-executing itself.
            return False
        return True
