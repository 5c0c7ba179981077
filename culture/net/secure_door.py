"""Where clients come in by TLS: each has a place, and little time, before it has shaken hands."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, cast

from culture.net.connection import GOODBYE_S, turn_away
from culture.net.door import Door
from culture.net.origin import Origin, origin_at, secured
from culture.net.proxied import Behind
from culture.net.tls import HANDSHAKE_S
from culture.net.wire import Wire
from culture.net.wires import Wires

if TYPE_CHECKING:
    from culture.net.driver import Driver

ACCESS_DENIED: Final = bytes([21, 3, 3, 0, 2, 2, 49])
"""A fatal alert (RFC 8446, 6.2), for whom there is no place: words would take a handshake."""


class SecureDoor(Door):
    def __init__(
        self,
        driver: "Driver",
        wires: Wires,
        listener: socket.socket,
        meet: Callable[[], asyncio.Protocol],
        context: ssl.SSLContext,
    ) -> None:
        self._driver = driver
        self._context = context
        self._handshakes: set[asyncio.Task[None]] = set()
        super().__init__(wires, listener, meet)

    def _let_in(self, sock: socket.socket, address: Any) -> None:
        origin = origin_at(sock, address)
        if self._driver.refusal(origin) is not None:
            wire = Wire(self._wires, sock, address, asyncio.Protocol())
            wire.begin()
            turn_away(wire, ACCESS_DENIED)
            return
        handshake = _Handshake(self._driver, origin, cast(Behind, self._meet()))
        task = self._wires.loop.create_task(self._shake_hands(sock, handshake))
        self._handshakes.add(task)
        task.add_done_callback(self._handshakes.discard)
        task.add_done_callback(handshake.end)

    async def _shake_hands(self, sock: socket.socket, handshake: "_Handshake") -> None:
        # Most who fail speak no TLS, or are gone.
        with contextlib.suppress(OSError):
            await self._wires.loop.connect_accepted_socket(
                lambda: handshake,
                sock,
                ssl=self._context,
                ssl_handshake_timeout=HANDSHAKE_S,
                ssl_shutdown_timeout=GOODBYE_S,
            )


class _Handshake(asyncio.Protocol):
    """Has a place until it is over, which then goes to what is behind."""

    def __init__(self, driver: "Driver", origin: Origin, behind: Behind) -> None:
        self._driver = driver
        self._origin = origin
        self._behind = behind
        self._is_over = False
        driver.admission.enter(origin)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.end()
        transport.set_protocol(cast(asyncio.Protocol, self._behind))
        self._behind.begin(cast(asyncio.Transport, transport), secured(self._origin, transport))

    def end(self, _task: asyncio.Task[None] | None = None) -> None:
        if not self._is_over:
            self._is_over = True
            self._driver.admission.leave(self._origin, was_registered=False)
