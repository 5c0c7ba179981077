"""Parse PROXY protocol headers, versions 1 and 2."""

import re
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Final

V2_SIGNATURE: Final = b"\r\n\r\n\0\r\nQUIT\n"
# The longest header of version 1, with CR and LF (section 2.1).
V1_BYTES: Final = 107
# More than any proxy sends; the length field would allow 64 KiB.
V2_BYTES: Final = 4096

_V1 = re.compile(
    rb"PROXY (?P<family>TCP4|TCP6) (?P<source>[0-9A-Fa-f:.]+) (?P<to>[0-9A-Fa-f:.]+)"
    rb" (?P<port>0|[1-9][0-9]{0,4}) (?:0|[1-9][0-9]{0,4})"
)
_FIXED = 16  # signature, version and command, family and transport, length
_LOCAL, _PROXY = 0x20, 0x21
_ADDRESS_BYTES = {0x1: 4, 0x2: 16}  # AF_INET, AF_INET6
_FAMILIES = range(0x4)
_TRANSPORTS = range(0x3)
_TYPE_SSL = 0x20
_CLIENT_SSL = 0x01


class BadHeader(Exception):
    """The header is missing or malformed. The connection must be dropped (section 2)."""


@dataclass(frozen=True, slots=True)
class ProxyHeader:
    """The contents of a PROXY header."""

    # None if the proxy does not name a client.
    address: IPv4Address | IPv6Address | None
    port: int
    # The client speaks TLS to the proxy.
    is_secure: bool
    # Length of the header in bytes; the client's data follows.
    size: int
    # The connection is the proxy's own, such as a health check.
    is_own: bool = False


_NO_CLIENT = (None, 0, False)


def parse_proxy_header(data: bytes) -> ProxyHeader | None:
    """Return the header, or None while it is incomplete. Raises BadHeader as soon as it is invalid."""
    if data.startswith(V2_SIGNATURE):
        return _parse_v2(data)
    if data.startswith(b"PROXY "):
        return _parse_v1(data)
    if V2_SIGNATURE.startswith(data) or b"PROXY ".startswith(data):
        return None
    raise BadHeader("the PROXY header is missing")


def _parse_v1(data: bytes) -> ProxyHeader | None:
    line, end, _ = data[:V1_BYTES].partition(b"\r\n")
    if not end:
        if len(data) >= V1_BYTES or b"\n" in line:
            raise BadHeader("the PROXY line does not end")
        return None
    size = len(line) + len(end)
    if line == b"PROXY UNKNOWN" or line.startswith(b"PROXY UNKNOWN "):
        return ProxyHeader(*_NO_CLIENT, size)
    found = _V1.fullmatch(line)
    if found is None or int(found["port"]) > 65535:
        raise BadHeader("the PROXY line is malformed")
    kind = IPv4Address if found["family"] == b"TCP4" else IPv6Address
    try:
        kind(found["to"].decode())
        return ProxyHeader(kind(found["source"].decode()), int(found["port"]), False, size)
    except AddressValueError as error:
        raise BadHeader(f"the PROXY line has a malformed address: {error}") from None


def _parse_v2(data: bytes) -> ProxyHeader | None:
    if len(data) < _FIXED:
        return None
    command, family, transport = data[12], data[13] >> 4, data[13] & 0xF
    size = _FIXED + int.from_bytes(data[14:16], "big")
    if command not in (_LOCAL, _PROXY) or family not in _FAMILIES or transport not in _TRANSPORTS:
        raise BadHeader("the PROXY header has an unknown version, command or family")
    if size > V2_BYTES:
        raise BadHeader("the PROXY header is too long")
    if len(data) < size:
        return None
    width = _ADDRESS_BYTES.get(family)
    if command == _LOCAL or width is None or not transport:
        return ProxyHeader(*_NO_CLIENT, size, is_own=command == _LOCAL)
    block = data[_FIXED:size]
    if len(block) < 2 * width + 4:
        raise BadHeader("the PROXY header is too short for its addresses")
    raw, ports, rest = block[:width], block[2 * width :], block[2 * width + 4 :]
    address = IPv4Address(raw) if width == 4 else IPv6Address(raw)
    return ProxyHeader(address, int.from_bytes(ports[:2], "big"), _says_tls(rest), size)


def _says_tls(vectors: bytes) -> bool:
    """Return whether a type-length-value field says that the client uses TLS (section 2.2.6)."""
    while len(vectors) >= 3:
        kind, length = vectors[0], int.from_bytes(vectors[1:3], "big")
        value, vectors = vectors[3 : 3 + length], vectors[3 + length :]
        if kind == _TYPE_SSL and value:
            return bool(value[0] & _CLIENT_SSL)
    return False
