"""A connection for each sender, for networks on which one connection cannot speak under several names."""

import asyncio
from collections.abc import Callable
from typing import Final

from culture.client.events import Event, Registered
from culture.client.registration import Identity
from culture.client.transport.network import Network
from culture.client.transport.pace import Pace, estimate_lines
from culture.errors import CultureError, TemporaryError, UnavailableError
from culture.names import Folded, fold

CONNECT_TIMEOUT_S: Final = 30.0
IDLE_S: Final = 900.0
MAX_SENDERS: Final = 50
_SWEEP_S: Final = 60.0


class _Sender:
    """One sender's client and the task that keeps it connected."""

    def __init__(self, network: Network, identity: Identity) -> None:
        loop = asyncio.get_running_loop()
        self._nick = identity.nick
        self._registered: asyncio.Future[None] = loop.create_future()
        self.client = network.make_client(identity, [], self._received, self._failed)
        self.pace = Pace(self.client)
        self.task = loop.create_task(self._run())
        # Serialises the messages of one sender, so that the lines of two long texts do not mix.
        self.turn = asyncio.Lock()
        self.used_at = loop.time()

    async def wait(self) -> None:
        """Return when the server has welcomed this sender, or raise why it does not."""
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                await asyncio.shield(self._registered)
        except TimeoutError:
            raise TemporaryError(f"cannot speak as '{self._nick}': the server does not answer") from None

    async def close(self) -> None:
        """Disconnect."""
        self.client.quit("idle")
        self.task.cancel()
        await asyncio.wait([self.task])

    async def _run(self) -> None:
        try:
            await self.client.run()
        except CultureError as error:
            self._failed(error, 0.0)

    def _received(self, event: Event) -> None:
        if isinstance(event, Registered) and not self._registered.done():
            self._registered.set_result(None)

    def _failed(self, error: CultureError, _: float) -> None:
        """Report the first attempt that fails; a sender that was connected before reconnects by itself."""
        if not self._registered.done():
            why = UnavailableError(f"cannot speak as '{self._nick}': {error}", hint=error.hint)
            self._registered.set_exception(why)
            # Nobody may be waiting any more.
            self._registered.exception()


class Senders:
    """Opens connections on demand and closes those that were not used for a while."""

    def __init__(self, network: Network, identity_of: Callable[[str], Identity]) -> None:
        self._network = network
        self._identity_of = identity_of
        self._senders: dict[Folded, _Sender] = {}

    async def send(self, channel: str, text: str, nick: str) -> None:
        """Send a text under a nick, and return when the server has accepted it."""
        sender = await self._find(nick)
        async with sender.turn:
            client, pace = sender.client, sender.pace
            if fold(channel) not in map(fold, client.channels()):
                await pace.wait()
                await client.join(channel)
            await pace.wait(estimate_lines(text))
            await client.send_message(channel, text)
            sender.used_at = asyncio.get_running_loop().time()

    async def run(self) -> None:
        """Close idle connections, and all of them when this is cancelled."""
        try:
            while True:
                await asyncio.sleep(_SWEEP_S)
                oldest = asyncio.get_running_loop().time() - IDLE_S
                for nick, sender in list(self._senders.items()):
                    if sender.used_at < oldest and not sender.turn.locked():
                        await self._discard(nick)
        finally:
            for nick in list(self._senders):
                await self._discard(nick)

    async def _find(self, nick: str) -> _Sender:
        key = fold(nick)
        if self._is_gone(key):
            await self._make_room()
        # Another message of the same sender may have opened the connection meanwhile.
        if self._is_gone(key):
            self._senders[key] = _Sender(self._network, self._identity_of(nick))
        sender = self._senders[key]
        try:
            await sender.wait()
        except CultureError:
            if self._senders.get(key) is sender:
                await self._discard(key)
            raise
        return sender

    def _is_gone(self, nick: Folded) -> bool:
        sender = self._senders.get(nick)
        return sender is None or sender.task.done()

    async def _make_room(self) -> None:
        if len(self._senders) >= MAX_SENDERS:
            idle = [nick for nick, sender in self._senders.items() if not sender.turn.locked()]
            if not idle:
                raise TemporaryError("too many senders speak at once", hint="try again in a few seconds")
            await self._discard(min(idle, key=lambda nick: self._senders[nick].used_at))

    async def _discard(self, nick: Folded) -> None:
        sender = self._senders.pop(nick, None)
        if sender is not None:
            await sender.close()
