"""Refuse to serve other machines without TLS or a trusted proxy."""

import ipaddress
from collections.abc import Sequence

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send


class OnlyTrustedProxies:
    """Middleware that answers other machines only if they are trusted proxies."""

    def __init__(self, app: ASGIApp, trusted: Sequence[str]) -> None:
        self._app = app
        self._networks = [ipaddress.ip_network(each) for each in trusted]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] == "http" and not self._is_trusted(scope.get("client")):
            refusal = PlainTextResponse("only trusted proxies may connect without TLS\n", 403)
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _is_trusted(self, peer: tuple[str, int] | None) -> bool:
        if peer is None or not peer[0]:
            # A unix socket has no address; its file mode decides who may connect.
            return True
        ip = ipaddress.ip_address(peer[0].partition("%")[0])
        ip = getattr(ip, "ipv4_mapped", None) or ip
        return ip.is_loopback or any(ip in network for network in self._networks)
