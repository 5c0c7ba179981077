"""Clients behind a proxy that says who they are, before they are let in (PROXY protocol)."""

import asyncio
import functools
import ipaddress
import logging
from collections.abc import Sequence
from typing import Final, Protocol, cast

from culture.net.origin import Origin, origin_of, parse_ip
from culture.protocol.proxy_header import BadHeader, parse_proxy_header
from culture.systemd.journal import fields

log = logging.getLogger(__name__)

HEADER_S: Final = 5.0
"""How long a proxy may take for a header that fits in one packet."""


class Behind(Protocol):
    """What talks to the client once it is known who that is: an asyncio protocol that is told."""

    def begin(self, transport: asyncio.Transport, origin: Origin) -> None: ...

    def data_received(self, data: bytes) -> None: ...


class ProxyGate(asyncio.Protocol):
    """From the addresses of proxies a header must come first; everyone else is what they seem.

    Whether there is a header is never guessed (section 5): where it may be left out, clients could forge it.
    """

    def __init__(self, proxies: Sequence[str], behind: Behind) -> None:
        self._proxies = _networks(tuple(proxies))
        self._behind = behind
        self._data = b""
        self._transport: asyncio.Transport
        self._origin: Origin
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport, self._origin = cast(asyncio.Transport, transport), origin_of(transport)
        if self._origin.address is None or not any(self._origin.address in each for each in self._proxies):
            self._hand_over(self._origin, b"")
            return
        self._deadline = asyncio.get_running_loop().call_later(HEADER_S, self._transport.abort)

    def data_received(self, data: bytes) -> None:
        self._data += data
        try:
            found = parse_proxy_header(self._data)
        except BadHeader as error:
            self._drop(str(error))
            return
        if found is None:
            return
        rest = self._data[found.size :]
        if found.address is not None:
            origin = Origin(parse_ip(str(found.address)), found.port, is_secure=found.is_secure)
            self._hand_over(origin, rest)
        elif found.is_own:
            self._hand_over(self._origin, rest)
        else:
            # It would pass for the proxy, which may be this machine, and be trusted as such.
            self._drop("it does not say who its client is")

    def _drop(self, why: str) -> None:
        peer = self._origin.peer
        log.warning("closing proxy %s: %s", peer, why, extra=fields(peer=peer))
        self._transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()

    def _hand_over(self, origin: Origin, rest: bytes) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._transport.set_protocol(cast(asyncio.Protocol, self._behind))
        self._behind.begin(self._transport, origin)
        if rest and not self._transport.is_closing():
            # Whom there is no place for, somebody else listens to.
            cast(asyncio.Protocol, self._transport.get_protocol()).data_received(rest)


@functools.lru_cache(maxsize=4)
def _networks(texts: tuple[str, ...]) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    return [ipaddress.ip_network(text) for text in texts]
