"""Who may still connect: counts of connections, in total and by where they come from."""

import ipaddress
from collections import Counter
from collections.abc import Callable, Hashable

from culture.config.ircd import Limits
from culture.net.origin import Origin

_IPV6_NETWORK_BITS = 64
"""What one IPv6 subscriber has to choose addresses from (RFC 6177): it counts as one address."""


class Admission:
    """A limit of 0 is none. This machine counts in the total, and is held back by the total alone."""

    def __init__(self, limits: Callable[[], Limits]) -> None:
        self._limits = limits
        self._by_address: Counter[Hashable] = Counter()
        self.connections = 0
        self.registering = 0

    def refusal(self, origin: Origin) -> str | None:
        """Why this one may not come in."""
        limits = self._limits()
        if _is_reached(limits.clients, self.connections):
            return "Too many connections"
        here = self._by_address[key] if (key := _key(origin)) in self._by_address else 0
        per_address = limits.local_clients if origin.is_local else limits.clients_per_address
        if _is_reached(per_address, here):
            return "Too many connections from your address"
        if not origin.is_local and _is_reached(limits.unregistered_clients, self.registering):
            return "Too many connections that have not registered"
        return None

    def enter(self, origin: Origin) -> None:
        self.connections += 1
        self.registering += 1
        self._by_address[_key(origin)] += 1

    def registered(self) -> None:
        self.registering -= 1

    def leave(self, origin: Origin, *, was_registered: bool) -> None:
        self.connections -= 1
        self.registering -= not was_registered
        key = _key(origin)
        self._by_address[key] -= 1
        if not self._by_address[key]:
            del self._by_address[key]

    @property
    def addresses(self) -> int:
        """How many addresses there are connections from."""
        return len(self._by_address)


def _key(origin: Origin) -> Hashable:
    if origin.is_local:
        return None
    if isinstance(origin.address, ipaddress.IPv6Address):
        return int(origin.address) >> (128 - _IPV6_NETWORK_BITS)
    return origin.address


def _is_reached(limit: int, count: int) -> bool:
    return bool(limit) and count >= limit
