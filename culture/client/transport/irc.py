"""The transport over IRC, which works on any IRC server.

Messages are read from the server if it has CHATHISTORY, otherwise from a log of what this program has heard.
One connection speaks under all names if the server has RELAYMSG and allows it; otherwise each sender has one.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from culture.client.events import Echoed, Event, Failed, Refused, Registered, Replayed, Said, Told
from culture.client.inquiry import who
from culture.client.registration import Identity
from culture.client.splitting import room_for_text, split_text
from culture.client.transport.checks import check_channel, check_limit, check_text, in_utc
from culture.client.transport.network import Network
from culture.client.transport.pace import Pace, estimate_lines
from culture.client.transport.senders import Senders
from culture.client.transport.transport import DEFAULT_LIMIT, Message, MessageLog
from culture.errors import CultureError, TemporaryError, UnavailableError
from culture.names import fold
from culture.protocol import numerics
from culture.protocol.capabilities import Cap

CONNECT_TIMEOUT_S: Final = 30.0
MAX_CHANNELS: Final = 200
# The second part of a relayed nick, as in `spark-harper/mcp`.
RELAY_NETWORK: Final = "mcp"


class IrcTransport:
    """A Transport on one IRC network. It works while `run` runs."""

    def __init__(
        self,
        network: Network,
        identity: Identity,
        channels: Sequence[str],
        log: MessageLog,
        *,
        identity_of: Callable[[str], Identity],
        wall_clock: Callable[[], float],
        on_message: Callable[[Message], None] = lambda message: None,
        on_down: Callable[[CultureError, float], None] = lambda error, wait_s: None,
    ) -> None:
        wanted = {fold(name): name for name in (*log.channels(), *channels)}
        identity = replace(identity, capabilities=(Cap.RELAYMSG,))
        self._client = network.make_client(identity, list(wanted.values()), self._received, on_down)
        self._identity_of = identity_of
        self._senders = Senders(network, identity_of)
        self._log = log
        self._wall_clock = wall_clock
        self._on_message = on_message
        self._registered = asyncio.Event()
        # The lines of two long texts do not mix.
        self._relaying = asyncio.Lock()
        self._pace = Pace(self._client)
        # Whether a sender's connection has said something that ours may not have received yet.
        self._is_behind = False

    @property
    def nick(self) -> str:
        """Return the nick of this program itself."""
        return self._client.nick

    @property
    def is_connected(self) -> bool:
        """Return whether the server has welcomed us."""
        return self._client.is_registered

    @property
    def is_healthy(self) -> bool:
        """Return False only if a connection counts as good although it has long been silent."""
        return self._client.is_healthy

    async def run(self) -> None:
        """Stay connected until `quit`. Raise what another attempt cannot change, such as a refused nick."""
        senders = asyncio.create_task(self._senders.run())
        try:
            await self._client.run()
        finally:
            senders.cancel()
            await asyncio.wait([senders])

    def quit(self, reason: str) -> None:
        """Disconnect, so that `run` returns."""
        self._client.quit(reason)

    async def send(self, channel: str, message: str, sender: str) -> None:
        """Send a text of any length to a channel under the nick of a sender."""
        check_channel(channel)
        check_text(message)
        await self._connected()
        await self._enter(channel)
        if fold(sender) == fold(self.nick):
            await self._pace.wait(estimate_lines(message))
            sent = await self._client.send_message(channel, message)
            if not self._client.can(Cap.ECHO_MESSAGE):
                self._heard(channel, self.nick, "\n".join(sent.lines), None, "")
        elif self._has_account(sender) or not await self._relay(channel, message, sender):
            self._is_behind = True
            await self._senders.send(channel, message, sender)

    async def read(
        self, channel: str, since: datetime | None = None, limit: int = DEFAULT_LIMIT
    ) -> list[Message]:
        """Return the newest messages after a time, the newest first."""
        check_channel(channel)
        check_limit(limit)
        await self._connected()
        await self._enter(channel)
        if self._client.can(Cap.CHATHISTORY):
            return await self._read_history(channel, since, limit)
        if self._is_behind:
            # The server answers after it has delivered what it accepted from the senders.
            self._is_behind = False
            await self._pace.wait()
            await self._client.ask("PING", "read")
        since_ms = int(in_utc(since).timestamp() * 1000) if since is not None else None
        return [
            Message(channel, sender, text, datetime.fromtimestamp(time_ms / 1000, UTC), msgid)
            for sender, text, time_ms, msgid in self._log.newest(channel, since_ms, limit)
        ]

    async def create_channel(self, name: str) -> None:
        """Create a channel by joining it, and stay in it, also after a restart."""
        check_channel(name)
        await self._connected()
        await self._enter(name)

    async def list_channels(self) -> list[str]:
        """Return the names of all channels that the server lists."""
        await self._connected()
        await self._pace.wait()
        answers = await self._client.ask("LIST")
        lines = [each.line for each in answers if isinstance(each, Told)]
        listed = {line.param(1) for line in lines if line.command == numerics.RPL_LIST}
        # A secret channel is listed only to its members.
        return sorted(listed | set(self._client.channels()), key=fold)

    async def get_members(self, channel: str) -> list[str]:
        """Return the nicks in a channel."""
        check_channel(channel)
        await self._connected()
        if self._is_in(channel):
            return sorted(self._client.members(channel), key=fold)
        await self._pace.wait()
        return sorted((member.nick for member in await who(self._client, channel)), key=fold)

    def _has_account(self, sender: str) -> bool:
        """Return whether a sender can prove who it is, which it cannot under a relayed nick."""
        return bool(self._identity_of(sender).account)

    async def _connected(self) -> None:
        """Wait for a connection, which may be lost for a moment."""
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                while not self._client.is_registered:
                    self._registered.clear()
                    await self._registered.wait()
        except TimeoutError:
            hint = "try again in a few seconds"
            raise TemporaryError(f"not connected to {self._client.address}", hint=hint) from None

    async def _enter(self, channel: str) -> None:
        if self._is_in(channel):
            return
        if len(self._client.channels()) >= MAX_CHANNELS:
            raise UnavailableError(f"'{channel}': already in {MAX_CHANNELS} channels, which is the limit")
        await self._pace.wait()
        await self._client.join(channel)
        self._log.add_channel(channel)

    def _is_in(self, channel: str) -> bool:
        return fold(channel) in map(fold, self._client.channels())

    async def _relay(self, channel: str, text: str, sender: str) -> bool:
        """Send by RELAYMSG (IRCv3 draft/relaymsg), and return False if the server does not let us."""
        if not self._client.can(Cap.RELAYMSG):
            return False
        async with self._relaying:
            return await self._relay_lines(channel, text, sender)

    async def _relay_lines(self, channel: str, text: str, sender: str) -> bool:
        nick = f"{sender}{self._client.relay_separator}{RELAY_NETWORK}"
        lines = split_text(text, room_for_text(nick, "", "PRIVMSG", channel))
        for number, line in enumerate(lines):
            answers = await self._client.ask("RELAYMSG", channel, nick, line, trailing=True)
            objections = [each.text for each in answers if isinstance(each, Refused | Failed)]
            if objections and number == 0:
                return False
            if objections:
                raise UnavailableError(
                    f"'{channel}': {objections[0]} ({number} of {len(lines)} lines were sent)"
                )
        return True

    async def _read_history(self, channel: str, since: datetime | None, limit: int) -> list[Message]:
        newer_than = "*" if since is None else f"timestamp={_server_time(since)}"
        answers = await self._client.ask("CHATHISTORY", "LATEST", channel, newer_than, str(limit))
        for answer in answers:
            match answer:
                case Replayed(target, said) if fold(target) == fold(channel):
                    found = [self._message(channel, each) for each in said]
                    return found[::-1][:limit]
                case Failed("CHATHISTORY", _, text):
                    raise UnavailableError(f"history of '{channel}': {text}")
        return []

    def _received(self, event: Event) -> None:
        match event:
            case Registered():
                self._registered.set()
            case Said(sender, str(channel), text, time=time, is_from_server=False):
                self._heard(channel, sender, text, time, event.msgid)
            case Echoed(target, text, msgid, _, time) if self._client.is_channel(target):
                self._heard(target, self.nick, text, time, msgid)

    def _heard(self, channel: str, sender: str, text: str, time: str | None, msgid: str) -> None:
        at = self._time(time)
        if not self._client.can(Cap.CHATHISTORY):
            self._log.append(channel, sender, text, int(at.timestamp() * 1000), msgid)
        self._on_message(Message(channel, sender, text, at, msgid))

    def _message(self, channel: str, said: Said) -> Message:
        return Message(channel, said.sender, said.text, self._time(said.time), said.msgid)

    def _time(self, server_time: str | None) -> datetime:
        try:
            return datetime.fromisoformat(server_time or "").astimezone(UTC)
        except ValueError:
            return datetime.fromtimestamp(self._wall_clock(), UTC)


def _server_time(time: datetime) -> str:
    return in_utc(time).isoformat(timespec="milliseconds").replace("+00:00", "Z")
