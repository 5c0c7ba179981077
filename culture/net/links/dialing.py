"""Dial another host, and verify its identity before any secret is sent."""

import asyncio
import contextlib
import hmac
import socket
import ssl
from collections.abc import Callable
from typing import Any, Final

from culture.client.connection import tls_context
from culture.config.address import TcpAddress, UnixAddress
from culture.config.ircd import Tls
from culture.config.links import LinkConfig, plain_fingerprint
from culture.errors import NotAllowedError, UnavailableError
from culture.net.listen.origin import origin_of
from culture.net.listen.tls import HANDSHAKE_S

# Time limit for the connection attempt.
DIAL_S: Final = 10.0

# Returns a transport for a connected socket.
MakeTransport = Callable[[socket.socket], asyncio.Transport]


async def dial(link: LinkConfig, own: Tls, make_transport: MakeTransport) -> asyncio.Transport:
    """Connect to the address of a link, without sending anything yet.

    Raises UnavailableError if the host cannot be reached, and NotAllowedError if its certificate is wrong.
    """
    try:
        async with asyncio.timeout(DIAL_S):
            sock = await _connect(link)
        if not link.is_tls:
            return make_transport(sock)
    except TimeoutError:
        raise UnavailableError(f"no answer from {link.address}") from None
    except OSError as error:
        raise UnavailableError(f"cannot connect to {link.address}: {error.strerror or error}") from None
    return await _secure(link, own, sock)


async def _connect(link: LinkConfig) -> socket.socket:
    assert link.endpoint is not None
    match link.endpoint.address:
        case UnixAddress(path):
            return await _connect_socket(socket.AF_UNIX, path)
        case TcpAddress(host, port):
            return await _connect_to_first(link, host, port)


async def _connect_to_first(link: LinkConfig, host: str, port: int) -> socket.socket:
    """Connect to the first address of a host that accepts."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    allowed = [(family, address) for family, _, _, _, address in found if link.may_reach(str(address[0]))]
    if not allowed:
        raise NotAllowedError(
            f"'{host}' is {found[0][4][0]}: without TLS a link to it would be readable on the way",
            hint="put tls: in front of its address, or say 'insecure: true'",
        )
    for family, address in allowed[:-1]:
        with contextlib.suppress(OSError):
            return await _connect_socket(family, address)
    return await _connect_socket(*allowed[-1])


async def _connect_socket(family: int, address: Any) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        if family != socket.AF_UNIX:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.get_running_loop().sock_connect(sock, address)
    except BaseException:
        sock.close()
        raise
    return sock


async def _secure(link: LinkConfig, own: Tls, sock: socket.socket) -> asyncio.Transport:
    try:
        transport, _ = await asyncio.get_running_loop().create_connection(
            asyncio.Protocol,
            sock=sock,
            ssl=_context(link, own),
            server_hostname=_host(link),
            ssl_handshake_timeout=HANDSHAKE_S,
        )
    except UnavailableError:
        sock.close()
        raise
    except ssl.SSLCertVerificationError as error:
        sock.close()
        raise NotAllowedError(f"{link.address} is somebody else: {error.verify_message}") from None
    except OSError as error:
        sock.close()
        raise UnavailableError(f"no TLS with {link.address}: {error.strerror or error}") from None
    if link.fingerprint and not _is_pinned(link, transport):
        transport.abort()
        raise NotAllowedError(
            f"{link.address} is somebody else: its certificate is not the one in 'fingerprint'"
        )
    return transport


def _context(link: LinkConfig, own: Tls) -> ssl.SSLContext:
    """Build the TLS context anew for each dial, because certificate files may have changed."""
    context = tls_context(link.ca)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if link.fingerprint:
        # The pinned fingerprint replaces the chain check; _secure compares it before anything is sent.
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if own.certificate:
        context.load_cert_chain(own.certificate, own.key or None, password=lambda: "")
    return context


def _host(link: LinkConfig) -> str:
    """Return the name that the certificate must match; a Unix socket has only the name of the link."""
    address = link.endpoint.address if link.endpoint is not None else None
    return address.host if isinstance(address, TcpAddress) else link.name


def _is_pinned(link: LinkConfig, transport: asyncio.Transport) -> bool:
    return hmac.compare_digest(origin_of(transport).fingerprint, plain_fingerprint(link.fingerprint))
