"""Where a client comes from: an address, or a socket of this machine."""

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
    address: IpAddress | None
    """None for a unix socket."""
    port: int = 0
    is_secure: bool = False
    """Nobody between here and there can read along: TLS."""
    fingerprint: str = ""
    """SHA-256 of the client's certificate in hexadecimal, where it showed one."""
    uid: int | None = None
    """Which user of this machine it is, as the kernel tells it of a unix socket."""

    @property
    def is_local(self) -> bool:
        return self.address is None or self.address.is_loopback

    @property
    def peer(self) -> str:
        """For people who read logs."""
        match self.address:
            case None:
                return "unix socket"
            case ipaddress.IPv6Address():
                return f"[{self.address}]:{self.port}"
            case ipaddress.IPv4Address():
                return f"{self.address}:{self.port}"

    def host(self, server: str) -> str:
        """What others see as a client's host. This machine has the server's name."""
        if self.is_local:
            return server
        shown = str(self.address)
        # A leading colon would end the parameters of a line.
        return "0" + shown if shown.startswith(":") else shown


def origin_of(transport: asyncio.BaseTransport) -> Origin:
    sock, address = transport.get_extra_info("socket"), transport.get_extra_info("peername")
    return secured(origin_at(sock, address), transport)


def origin_at(sock: socket.socket, address: Any) -> Origin:
    """What is known before TLS begins."""
    if sock.family == socket.AF_UNIX:
        return Origin(None, uid=_uid(sock))
    return Origin(parse_ip(address[0]), address[1])


def secured(origin: Origin, transport: asyncio.BaseTransport) -> Origin:
    tls: ssl.SSLObject | None = transport.get_extra_info("ssl_object")
    if tls is None:
        return origin
    return dataclasses.replace(origin, is_secure=True, fingerprint=_fingerprint(tls))


def origin_values(origin: Origin) -> dict[str, Any]:
    """As JSON can hold it."""
    return {
        "address": str(origin.address) if origin.address is not None else None,
        "port": origin.port,
        "is_secure": origin.is_secure,
        "fingerprint": origin.fingerprint,
        "uid": origin.uid,
    }


def origin_from(values: dict[str, Any]) -> Origin:
    address = values["address"]
    return Origin(**{**values, "address": parse_ip(address) if address is not None else None})


def parse_ip(text: str) -> IpAddress:
    """Without its zone; an IPv4 address that came in through an IPv6 socket is itself."""
    address = ipaddress.ip_address(text.partition("%")[0])
    return getattr(address, "ipv4_mapped", None) or address


def _uid(sock: socket.socket) -> int:
    """Of who connected, at the time when they did (unix(7), SO_PEERCRED)."""
    _pid, uid, _gid = _CREDENTIALS.unpack(
        sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    )
    return int(uid)


def _fingerprint(tls: ssl.SSLObject) -> str:
    certificate = tls.getpeercert(binary_form=True)
    return hashlib.sha256(certificate).hexdigest() if certificate else ""
