"""Find the read position of a TCP stream from the kernel's counters."""

import fcntl
import socket
import struct
import termios
from typing import Final

_BYTES_RECEIVED: Final = struct.Struct("128xQ")  # struct tcp_info in linux/tcp.h, tcpi_bytes_received
_INT: Final = struct.Struct("i")
_TRIES: Final = 10


def read_position(sock: socket.socket) -> int | None:
    """Return how many bytes were read from a TCP socket since it was opened; None for other sockets."""
    if sock.family == socket.AF_UNIX:
        return None
    for _ in range(_TRIES):
        unread = _unread(sock)
        info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _BYTES_RECEIVED.size)
        # Valid only if no data arrived between the two calls.
        if len(info) == _BYTES_RECEIVED.size and _unread(sock) == unread:
            (received,) = _BYTES_RECEIVED.unpack(info)
            return int(received) - unread
    return None


def _unread(sock: socket.socket) -> int:
    (unread,) = _INT.unpack(fcntl.ioctl(sock, termios.FIONREAD, bytes(_INT.size)))
    return int(unread)
