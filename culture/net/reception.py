"""What meets a new client at a listener: WebSocket, the gate for proxies, or the connection itself."""

import asyncio
from collections.abc import Callable
from typing import cast

from culture.config.address import Carrier
from culture.config.ircd import IrcdConfig
from culture.errors import UnavailableError
from culture.net.connection import Connection
from culture.net.proxied import Behind, ProxyGate


def reception(
    carrier: Carrier, make_connection: Callable[[], Connection], config: Callable[[], IrcdConfig]
) -> Callable[[], asyncio.Protocol]:
    """The protocol factory of a listener. It asks for the configuration each time: a reload counts."""
    make: Callable[[], Behind] = make_connection
    if carrier.is_websocket:
        make = _in_websocket(make_connection, config)

    def meet() -> asyncio.Protocol:
        proxies = config().proxies
        # A proxy's header stands before TLS begins, where nobody here can read it: TLS ends at the proxy.
        if proxies and not carrier.is_tls:
            return ProxyGate(proxies, make())
        return cast(asyncio.Protocol, make())

    return meet


def _in_websocket(
    make_connection: Callable[[], Connection], config: Callable[[], IrcdConfig]
) -> Callable[[], Behind]:
    try:
        # An extra: only servers with such a listener need it.
        from culture.net.websocket import WebSocket
    except ModuleNotFoundError:
        raise UnavailableError(
            "'listen' has a WebSocket, but the Python module 'wsproto' is missing",
            hint="apt install python3-wsproto",
        ) from None
    return lambda: WebSocket(make_connection, config().websocket_origins)
