"""Build the protocol stack of a new client: PROXY header, WebSocket, IRC connection."""

import asyncio
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from culture.config.address import Carrier
from culture.errors import UnavailableError
from culture.net.connection import Connection
from culture.net.listen.proxy_protocol import ProxiedClient, ProxyGate

if TYPE_CHECKING:
    from culture.net.driver import Driver
    from culture.net.listen.websocket import WebSocket


def protocol_factory(carrier: Carrier, driver: "Driver") -> Callable[[], asyncio.Protocol]:
    """Return a listener's protocol factory, which follows configuration reloads."""
    make: Callable[[], ProxiedClient] = functools.partial(Connection, driver)
    if carrier.is_websocket:
        make = _websocket_factory(driver)

    def make_protocol() -> asyncio.Protocol:
        proxies = driver.ircd.config.proxies
        # With TLS the PROXY header would precede the handshake, where nothing here reads it; TLS ends at the
        # proxy.
        if proxies and not carrier.is_tls:
            return ProxyGate(proxies, make(), driver.agents)
        return cast(asyncio.Protocol, make())

    return make_protocol


def find_websocket() -> type["WebSocket"]:
    """Return the WebSocket class. Raises UnavailableError if wsproto is not installed."""
    try:
        # Optional dependency: only servers with a WebSocket listener need it.
        from culture.net.listen.websocket import WebSocket
    except ModuleNotFoundError:
        raise UnavailableError(
            "'listen' has a WebSocket, but the Python module 'wsproto' is missing",
            hint="apt install python3-wsproto",
        ) from None
    return WebSocket


def _websocket_factory(driver: "Driver") -> Callable[[], ProxiedClient]:
    websocket = find_websocket()
    return lambda: websocket(driver, lambda: Connection(driver), driver.ircd.config.websocket_origins)
