"""Read traffic counters of a connection from the kernel, which keeps them even across server restarts."""

import asyncio
import socket
import struct

from culture.ircd.traffic import Traffic

# Of `struct tcp_info` (linux/tcp.h): bytes_acked, bytes_received, data_segs_in and data_segs_out.
_TCP_INFO = struct.Struct("=120x Q Q 16x I I")


def traffic_of(transport: asyncio.Transport) -> Traffic:
    """Return the traffic of a connection; a Unix socket has no counters in the kernel."""
    waiting = transport.get_write_buffer_size()
    sock: socket.socket | None = transport.get_extra_info("socket")
    if sock is None or sock.family == socket.AF_UNIX or transport.is_closing():
        return Traffic(waiting)
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO.size)
    bytes_out, bytes_in, packets_in, packets_out = _TCP_INFO.unpack(info)
    return Traffic(waiting, packets_out, bytes_out, packets_in, bytes_in)
