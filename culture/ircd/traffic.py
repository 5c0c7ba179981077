"""What went over a connection. Nothing here counts it: whoever holds the socket knows."""

from typing import NamedTuple


class Traffic(NamedTuple):
    waiting_bytes: int = 0
    """Not taken by the reader yet."""
    packets_out: int = 0
    bytes_out: int = 0
    packets_in: int = 0
    bytes_in: int = 0


NO_TRAFFIC = Traffic()
