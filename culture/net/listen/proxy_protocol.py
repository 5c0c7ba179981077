"""Read the PROXY protocol header of connections from trusted proxies before the client is served."""

import asyncio
import functools
import ipaddress
import logging
from collections.abc import Sequence
from typing import Final, Protocol, cast

from culture.net.auth.agent_users import AgentUsers
from culture.net.listen.origin import Origin, origin_of, parse_ip
from culture.net.listen.proxy_header import BadHeader, parse_proxy_header
from culture.systemd.journal import fields

log = logging.getLogger(__name__)

# Time limit for the header.
HEADER_S: Final = 5.0


class ProxiedClient(Protocol):
    """An asyncio protocol that takes over once the client's origin is known."""

    def begin(self, transport: asyncio.Transport, origin: Origin) -> None:
        """Start serving the client."""

    def data_received(self, data: bytes) -> None:
        """Handle input of the client."""


class ProxyGate(asyncio.Protocol):
    """Requires a header from the addresses of proxies, and passes all other connections through.

    The header is never optional for a proxy (section 5), because clients could forge an optional one.
    An agent is never a proxy, because it could then pose as anybody.
    """

    def __init__(self, proxies: Sequence[str], client: ProxiedClient, agents: AgentUsers) -> None:
        self._agents = agents
        self._proxies = _networks(tuple(proxies))
        self._client = client
        self._data = b""
        self._transport: asyncio.Transport
        self._origin: Origin
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport, self._origin = cast(asyncio.Transport, transport), origin_of(transport)
        if not self._is_proxy(self._origin):
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
            # The client would pass for the proxy, which may be on this machine and thus trusted.
            self._drop("the header does not name the client")

    def _is_proxy(self, origin: Origin) -> bool:
        if origin.address is None or self._agents.agent_of(origin.uid) is not None:
            return False
        return any(origin.address in each for each in self._proxies)

    def _drop(self, reason: str) -> None:
        peer = self._origin.peer
        log.warning("closing proxy %s: %s", peer, reason, extra=fields(peer=peer))
        self._transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()

    def _hand_over(self, origin: Origin, rest: bytes) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._transport.set_protocol(cast(asyncio.Protocol, self._client))
        self._client.begin(self._transport, origin)
        if rest and not self._transport.is_closing():
            # A refused client has another protocol by now.
            cast(asyncio.Protocol, self._transport.get_protocol()).data_received(rest)


@functools.lru_cache(maxsize=4)
def _networks(texts: tuple[str, ...]) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    return [ipaddress.ip_network(text) for text in texts]
