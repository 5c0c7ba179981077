"""What meets a new client at a listener: WebSocket, the gate for proxies, or the connection itself."""

import asyncio
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from culture.config.address import Carrier
from culture.errors import UnavailableError
from culture.net.connection import Connection
from culture.net.proxied import Behind, ProxyGate

if TYPE_CHECKING:
    from culture.net.driver import Driver
    from culture.net.websocket import WebSocket


def reception(carrier: Carrier, driver: "Driver") -> Callable[[], asyncio.Protocol]:
    """The protocol factory of a listener. It asks for the configuration each time: a reload counts."""
    make: Callable[[], Behind] = functools.partial(Connection, driver)
    if carrier.is_websocket:
        make = _in_websocket(driver)

    def meet() -> asyncio.Protocol:
        proxies = driver.ircd.config.proxies
        # A proxy's header stands before TLS begins, where nobody here can read it: TLS ends at the proxy.
        if proxies and not carrier.is_tls:
            return ProxyGate(proxies, make())
        return cast(asyncio.Protocol, make())

    return meet


def find_websocket() -> type["WebSocket"]:
    """Raises UnavailableError where what it needs is not installed."""
    try:
        # An extra: only servers with such a listener need it.
        from culture.net.websocket import WebSocket
    except ModuleNotFoundError:
        raise UnavailableError(
            "'listen' has a WebSocket, but the Python module 'wsproto' is missing",
            hint="apt install python3-wsproto",
        ) from None
    return WebSocket


def _in_websocket(driver: "Driver") -> Callable[[], Behind]:
    websocket = find_websocket()
    return lambda: websocket(driver, lambda: Connection(driver), driver.ircd.config.websocket_origins)
