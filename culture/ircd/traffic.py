"""Traffic counters of one connection, which the driver counts."""

from typing import NamedTuple


class Traffic(NamedTuple):
    """What a connection sent and received since it began."""

    # Output that the client has not read yet.
    waiting_bytes: int = 0
    packets_out: int = 0
    bytes_out: int = 0
    packets_in: int = 0
    bytes_in: int = 0


NO_TRAFFIC = Traffic()
