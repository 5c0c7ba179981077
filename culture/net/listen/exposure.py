"""Describe from where a listener can be reached."""

import ipaddress

from culture.config.address import Address, Carrier, UnixAddress


def describe(address: Address, carrier: Carrier) -> str:
    """Return a description such as `127.0.0.1:6667 (plain, from this machine)`."""
    kind = "TLS" if carrier.is_tls else "plain"
    words = f"WebSocket, {kind}" if carrier.is_websocket else kind
    return f"{address} ({words}, {_from_where(address)})"


def is_exposed(address: Address, carrier: Carrier) -> bool:
    """Return whether a listener without TLS is reachable from outside the local network."""
    ip = None if carrier.is_tls else _ip(address)
    return ip is not None and (ip.is_unspecified or ip.is_global)


def is_for_others(address: Address) -> bool:
    """Return whether other machines can reach the address."""
    ip = _ip(address)
    return ip is not None and not ip.is_loopback


def _from_where(address: Address) -> str:
    ip = _ip(address)
    if ip is None or ip.is_loopback:
        return "from this machine"
    if ip.is_unspecified:
        return "from everywhere, on all addresses"
    return "from everywhere" if ip.is_global else "from its own network"


def _ip(address: Address) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    return None if isinstance(address, UnixAddress) else ipaddress.ip_address(address.host.partition("%")[0])
