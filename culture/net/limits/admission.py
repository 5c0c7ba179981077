"""Limit the number of connections, in total and per address."""

import ipaddress
from collections import Counter
from collections.abc import Callable, Hashable

from culture.config.ircd import Limits
from culture.net.listen.origin import Origin

# One IPv6 subscriber has a /64 network (RFC 6177), which counts as one address.
_IPV6_NETWORK_BITS = 64


class Admission:
    """Counts connections. A limit of 0 is off; local clients have a limit of their own."""

    def __init__(self, limits: Callable[[], Limits]) -> None:
        self._limits = limits
        self._by_address: Counter[Hashable] = Counter()
        self.connections = 0
        self.registering = 0

    def refusal(self, origin: Origin) -> str | None:
        """Return why a new connection must be refused, or None."""
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
        """Count a new connection."""
        self.connections += 1
        self.registering += 1
        self._by_address[_key(origin)] += 1

    def registered(self) -> None:
        """Count a connection as registered."""
        self.registering -= 1

    def leave(self, origin: Origin, *, was_registered: bool) -> None:
        """Uncount a closed connection."""
        self.connections -= 1
        self.registering -= not was_registered
        key = _key(origin)
        self._by_address[key] -= 1
        if not self._by_address[key]:
            del self._by_address[key]

    @property
    def addresses(self) -> int:
        """Return the number of distinct addresses with connections."""
        return len(self._by_address)


def client_of(origin: Origin) -> Hashable:
    """Return the key under which all connections of one client are counted together."""
    return _address_key(origin) if origin.uid is None else ("user", origin.uid)


def _key(origin: Origin) -> Hashable:
    return None if origin.is_local else _address_key(origin)


def _address_key(origin: Origin) -> Hashable:
    if isinstance(origin.address, ipaddress.IPv6Address):
        return int(origin.address) >> (128 - _IPV6_NETWORK_BITS)
    return origin.address


def _is_reached(limit: int, count: int) -> bool:
    return bool(limit) and count >= limit
