"""An IRC client that keeps one nick connected and reconnects after every loss."""

import asyncio
import random
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, NamedTuple

from culture.client.backoff import waits_s
from culture.client.composing import rest_of
from culture.client.connection import PATIENCE, Connection, Patience, open_connection
from culture.client.events import Echoed, Event, Failed, Refused
from culture.client.exchanges import ConnectionLost, Exchanges
from culture.client.registration import Identity
from culture.client.session import Kind, Session
from culture.config.address import Address
from culture.errors import CultureError, NotAllowedError, TemporaryError, UnavailableError, UsageError
from culture.names import fold
from culture.protocol.capabilities import Cap
from culture.protocol.framing import BODY_BYTES
from culture.protocol.line import NO_TAGS, format_line

ANSWER_TIMEOUT_S: Final = 10.0

# Told what was being sent when there was no connection any more. Gives back what of it is to be sent once
# there is another, or raises.
OnLost = Callable[[TemporaryError, list[str]], Awaitable[list[str]]]


class Sent(NamedTuple):
    """What the server accepted: the lines of a message and their msgids."""

    # As readers see them who get one line at a time.
    lines: list[str]
    # Of the messages that they were sent as, where the server tells.
    msgids: tuple[str, ...]


async def _give_up(error: TemporaryError, burst: list[str]) -> list[str]:
    raise error


class Client:
    """Keeps one identity connected while `run` runs. `on_event` receives every event, in order.

    `on_down` receives the reason why there is no connection and the seconds until the next attempt.
    """

    def __init__(
        self,
        address: Address,
        identity: Identity,
        channels: Sequence[str],
        on_event: Callable[[Event], None],
        on_down: Callable[[CultureError, float], None],
        patience: Patience = PATIENCE,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.address = address
        self._identity = identity
        # What to be in, also after the next connection.
        self._channels = list(channels)
        self._on_event = on_event
        self._on_down = on_down
        self._patience = patience
        self._tls = tls
        self._connection: Connection | None = None
        self._exchanges = Exchanges()
        self._has_quit = False

    @property
    def nick(self) -> str:
        """Return the current nick."""
        return self._connection.session.nick if self._connection else self._identity.nick

    @property
    def is_registered(self) -> bool:
        """Return whether the server has welcomed the client."""
        return self._connection is not None and self._connection.session.is_registered

    @property
    def is_healthy(self) -> bool:
        """Return False only if a connection counts as good although it was silent for too long."""
        return self._connection is None or self._connection.silent_s < self._patience.longest_silence_s

    def channels(self) -> list[str]:
        """Return the channels that the client is in."""
        return self._connection.session.roster.names() if self._connection else []

    def can(self, capability: Cap) -> bool:
        """Return whether the server has enabled a capability for the client."""
        return self._connection is not None and capability in self._connection.session.capabilities

    @property
    def relay_separator(self) -> str:
        """Return the character that the nick in a RELAYMSG must have."""
        return self._registered().session.relay_separator

    def is_channel(self, target: str) -> bool:
        """Return whether a target is a channel on this server."""
        return self._connection is not None and self._connection.session.channel_of(target) is not None

    def is_operator(self, channel: str, nick: str) -> bool:
        """Return whether a nick is an operator of a channel."""
        return self._connection is not None and self._connection.session.roster.is_operator(channel, nick)

    def members(self, channel: str) -> list[str]:
        """Return the nicks in a channel."""
        return self._connection.session.roster.members(channel) if self._connection else []

    async def run(self) -> None:
        """Stay connected until `quit`. Raise CultureError if no retry can help."""
        waits = waits_s(random.random)
        while not self._has_quit:
            try:
                why, was_registered = await self._connect_once()
            except UnavailableError as error:
                why, was_registered = error, False
            if isinstance(why, NotAllowedError):
                raise why
            if was_registered:
                waits = waits_s(random.random)
            if not self._has_quit:
                wait_s = next(waits)
                self._on_down(why, wait_s)
                await asyncio.sleep(wait_s)

    async def _connect_once(self) -> tuple[CultureError, bool]:
        session = Session(self._identity, self._channels)
        self._connection = await open_connection(
            self.address, session, self._received, self._patience, self._tls
        )
        try:
            return await self._connection.run(), session.is_registered
        finally:
            self._connection = None
            self._exchanges.connection_lost()

    def _received(self, event: Event) -> None:
        self._exchanges.received(event)
        self._on_event(event)

    def say(self, target: str, text: str, kind: Kind = Kind.MESSAGE) -> list[str]:
        """Send a message without waiting for the server's reply, and return its lines."""
        connection = self._registered()
        composed = connection.session.compose(target, text, kind)
        for burst in composed.bursts:
            connection.session.send(*burst)
        connection.flush()
        return composed.lines

    def send_tags(self, target: str, tags: Mapping[str, str]) -> None:
        """Send tags without a text (TAGMSG); do nothing without a connection to a server that relays tags."""
        if self.is_registered and self.can(Cap.MESSAGE_TAGS):
            self._send_line(format_line("TAGMSG", target, tags=tags))

    def set_metadata(self, key: str, value: str) -> None:
        """Publish a value of our own (METADATA); do nothing where the server has no metadata."""
        if self.is_registered and (self.can(Cap.METADATA) or self.can(Cap.METADATA_2)):
            self._send_line(format_line("METADATA", "*", "SET", key, value, trailing=True))

    def set_away(self, why: str) -> None:
        """Be away for this reason, or come back if it is empty; do nothing without a connection."""
        if self.is_registered:
            self._send_line(format_line("AWAY", why, trailing=True) if why else "AWAY")

    def _send_line(self, line: str) -> None:
        connection = self._registered()
        connection.session.send(line)
        connection.flush()

    async def send_message(
        self,
        target: str,
        text: str,
        tags: Mapping[str, str] = NO_TAGS,
        on_lost: OnLost = _give_up,
    ) -> Sent:
        """Send a message and return when the server has accepted it. Raise CultureError otherwise."""
        lines, bursts, pause_s = self._registered().session.compose(target, text, tags=tags)
        if not lines:
            raise UsageError("there is no text to send")
        msgids: list[str] = []
        for number, burst in enumerate(bursts):
            if number:
                await asyncio.sleep(pause_s)
            msgids += await self._send_surely(target, burst, on_lost)
        return Sent(lines, tuple(msgids))

    async def _send_surely(self, target: str, burst: list[str], on_lost: OnLost) -> list[str]:
        echoes: list[Echoed] = []
        try:
            return await self._send_burst(target, burst)
        except ConnectionLost as lost:
            echoes = _own_echoes(target, lost.answers)
            rest = rest_of(burst, len(echoes))
            rest = await on_lost(lost, rest) if rest else []
        except TemporaryError as error:
            rest = await on_lost(error, burst)
        return _msgids(echoes) + (await self._send_burst(target, rest) if rest else [])

    async def _send_burst(self, target: str, burst: list[str]) -> list[str]:
        self._registered().session.send(*burst)
        answers = await self._dealt_with()
        _raise_objection(target, answers)
        return _msgids(_own_echoes(target, answers))

    async def ask(self, command: str, *params: str, trailing: bool = False) -> list[Event]:
        """Send a command and return the server's replies to it."""
        line = format_line(command, *params, trailing=trailing)
        if len(line.encode()) + 2 > BODY_BYTES:
            raise UsageError(f"that is too long: a line has room for {BODY_BYTES} bytes")
        self._registered().session.send(line)
        return await self._dealt_with()

    async def join(self, channel: str) -> None:
        """Join a channel now and after each reconnect. Raise CultureError if the server refuses."""
        answers = await self.ask("JOIN", channel)
        if channel not in self._registered().session.roster:
            _raise_objection(channel, answers)
            raise UnavailableError(f"'{channel}': the server did not let us in")
        if fold(channel) not in map(fold, self._channels):
            self._channels.append(channel)

    async def part(self, channel: str, reason: str = "") -> None:
        """Leave a channel and do not join it again after a reconnect."""
        why = [reason] if reason else []
        _raise_objection(channel, await self.ask("PART", channel, *why, trailing=bool(why)))
        self._channels = [each for each in self._channels if fold(each) != fold(channel)]

    async def _dealt_with(self) -> list[Event]:
        connection, exchange = self._registered(), self._exchanges.begin()
        connection.session.ping(exchange.token)
        connection.flush()
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                await exchange.done
        except TimeoutError:
            # Nobody is there any more, or they are past hearing us: the next connection tells what was done.
            lost = ConnectionLost(
                f"no answer from {self.address} within {ANSWER_TIMEOUT_S:.0f} s", exchange.answers
            )
            connection.close(lost)
            raise lost from None
        finally:
            self._exchanges.end(exchange)
        return exchange.answers

    def quit(self, reason: str) -> None:
        """Leave the network, which ends `run`."""
        self._has_quit = True
        if self._connection is not None:
            self._connection.session.quit(reason)
            self._connection.flush()
            self._connection.close(TemporaryError("we quit"))

    def _registered(self) -> Connection:
        if self._connection is None or not self._connection.session.is_registered:
            raise TemporaryError(f"not connected to {self.address}", hint="try again in a few seconds")
        return self._connection


def _own_echoes(target: str, answers: Sequence[Event]) -> list[Echoed]:
    echoes = (each for each in answers if isinstance(each, Echoed) and not each.is_notice)
    return [each for each in echoes if fold(each.target) == fold(target)]


def _msgids(echoes: Sequence[Echoed]) -> list[str]:
    return [each.msgid for each in echoes if each.msgid]


def _raise_objection(about: str, answers: Sequence[Event]) -> None:
    for answer in answers:
        match answer:
            case Refused(_, refused, text) if fold(refused) == fold(about):
                raise UnavailableError(f"'{about}': {text}")
            case Failed("BATCH" | "PRIVMSG" | "NOTICE", _, text):
                raise UnavailableError(f"'{about}': {text}")
