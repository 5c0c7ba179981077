"""The origin of a connection: address, TLS, client certificate and local Unix user."""

import asyncio
import dataclasses
import hashlib
import ipaddress
import socket
import ssl
import struct
from dataclasses import dataclass
from typing import Any

_CREDENTIALS = struct.Struct("iII")
IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a connection comes from."""

    # None for a Unix socket.
    address: IpAddress | None
    port: int = 0
    # The connection uses TLS.
    is_secure: bool = False
    # SHA-256 of the client certificate in hexadecimal, if there is one.
    fingerprint: str = ""
    # The local Unix user, according to the kernel; None for another machine, or if it was not looked up.
    uid: int | None = None

    @property
    def is_local(self) -> bool:
        """Return whether the connection comes from this machine."""
        return self.address is None or self.address.is_loopback

    @property
    def peer(self) -> str:
        """Return the address for log entries."""
        match self.address:
            case None:
                return "unix socket"
            case ipaddress.IPv6Address():
                return f"[{self.address}]:{self.port}"
            case ipaddress.IPv4Address():
                return f"{self.address}:{self.port}"

    def host(self, server: str) -> str:
        """Return the host in the client's mask: the server's name for local clients, else the address."""
        if self.is_local:
            return server
        shown = str(self.address)
        # A leading colon would mark the last parameter of an IRC line.
        return "0" + shown if shown.startswith(":") else shown


def origin_of(transport: asyncio.BaseTransport) -> Origin:
    """Return the origin of a transport."""
    sock, address = transport.get_extra_info("socket"), transport.get_extra_info("peername")
    return secured(origin_at(sock, address, transport.get_extra_info("uid")), transport)


def origin_at(sock: socket.socket, address: Any, uid: int | None = None) -> Origin:
    """Return the origin before the TLS handshake; `uid` is the local user at the other end, if known."""
    if sock.family == socket.AF_UNIX:
        return Origin(None, uid=_uid(sock))
    return Origin(parse_ip(address[0]), address[1], uid=uid)


def secured(origin: Origin, transport: asyncio.BaseTransport) -> Origin:
    """Return the origin with the TLS properties of the transport added."""
    tls: ssl.SSLObject | None = transport.get_extra_info("ssl_object")
    if tls is None:
        return origin
    return dataclasses.replace(origin, is_secure=True, fingerprint=_fingerprint(tls))


def origin_values(origin: Origin) -> dict[str, Any]:
    """Return the origin as JSON values."""
    return {
        "address": str(origin.address) if origin.address is not None else None,
        "port": origin.port,
        "is_secure": origin.is_secure,
        "fingerprint": origin.fingerprint,
        "uid": origin.uid,
    }


def origin_from(values: dict[str, Any]) -> Origin:
    """Return the origin that `origin_values` encoded."""
    address = values["address"]
    return Origin(**{**values, "address": parse_ip(address) if address is not None else None})


def parse_ip(text: str) -> IpAddress:
    """Parse an address, drop its zone, and turn an IPv4-mapped IPv6 address into IPv4."""
    address = ipaddress.ip_address(text.partition("%")[0])
    return getattr(address, "ipv4_mapped", None) or address


def _uid(sock: socket.socket) -> int:
    """Return the uid of the process that connected, at that time (unix(7), SO_PEERCRED)."""
    _pid, uid, _gid = _CREDENTIALS.unpack(
        sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    )
    return int(uid)


def _fingerprint(tls: ssl.SSLObject) -> str:
    certificate = tls.getpeercert(binary_form=True)
    return hashlib.sha256(certificate).hexdigest() if certificate else ""
