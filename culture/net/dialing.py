"""Dialing: a connection to another host on which a secret may be said, or none."""

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
from culture.net.origin import origin_of
from culture.net.tls import HANDSHAKE_S

DIAL_S: Final = 10.0
"""How long a host may take to answer at all."""

Wired = Callable[[socket.socket], asyncio.Transport]
"""Makes a transport of a connected socket."""


async def dial(link: LinkConfig, own: Tls, wired: Wired) -> asyncio.Transport:
    """To where the link leads; nothing was said yet.

    Raises UnavailableError if nobody is there, and NotAllowedError if it is not the host that it should be.
    """
    try:
        async with asyncio.timeout(DIAL_S):
            sock = await _connect(link)
        if not link.is_tls:
            return wired(sock)
    except TimeoutError:
        raise UnavailableError(f"no answer from {link.address}") from None
    except OSError as error:
        raise UnavailableError(f"cannot connect to {link.address}: {error.strerror or error}") from None
    return await _secure(link, own, sock)


async def _connect(link: LinkConfig) -> socket.socket:
    assert link.endpoint is not None
    match link.endpoint.address:
        case UnixAddress(path):
            return await _to(socket.AF_UNIX, path)
        case TcpAddress(host, port):
            return await _to_one_of(link, host, port)


async def _to_one_of(link: LinkConfig, host: str, port: int) -> socket.socket:
    """The first address of a host that answers."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    allowed = [(family, address) for family, _, _, _, address in found if link.may_reach(str(address[0]))]
    if not allowed:
        raise NotAllowedError(
            f"'{host}' is {found[0][4][0]}: without TLS a link to it would be readable on the way",
            hint="put tls: in front of its address, or say 'insecure: true'",
        )
    for family, address in allowed[:-1]:
        with contextlib.suppress(OSError):
            return await _to(family, address)
    return await _to(*allowed[-1])


async def _to(family: int, address: Any) -> socket.socket:
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
    """Our own certificate is shown to who asks for it. Both are read every time: they may be new."""
    context = tls_context(link.ca)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if link.fingerprint:
        # What matters is that it is this very certificate; that is looked at before anything is said.
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if own.certificate:
        context.load_cert_chain(own.certificate, own.key or None, password=lambda: "")
    return context


def _host(link: LinkConfig) -> str:
    """What a certificate has to be for. A host at a unix socket has only its name."""
    address = link.endpoint.address if link.endpoint is not None else None
    return address.host if isinstance(address, TcpAddress) else link.name


def _is_pinned(link: LinkConfig, transport: asyncio.Transport) -> bool:
    return hmac.compare_digest(origin_of(transport).fingerprint, plain_fingerprint(link.fingerprint))
