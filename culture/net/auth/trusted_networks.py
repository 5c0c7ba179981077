"""Recognise connections from networks where nobody has to log in."""

import functools
import ipaddress

from culture.net.listen.origin import Origin

UNIX = "unix"


def is_trusted(origin: Origin, trusted: tuple[str, ...]) -> bool:
    """Return whether the origin is in `trusted`, a list of networks and the word `unix`."""
    if origin.address is None:
        return UNIX in trusted
    return any(origin.address in network for network in _networks(trusted))


@functools.lru_cache(maxsize=4)
def _networks(trusted: tuple[str, ...]) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    """Parse the networks once, not for every connection."""
    return [ipaddress.ip_network(text) for text in trusted if text != UNIX]
