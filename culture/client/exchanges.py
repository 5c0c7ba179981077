"""Match replies with commands: send a PING after a command and collect everything before its PONG.

A server processes lines in order, so the PONG follows every reply and every refusal to the lines before it.
This needs no capability and works on every server.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

from culture.client.events import Answered, Echoed, Event, Failed, Refused, Replayed, Told
from culture.errors import CultureError, TemporaryError


class ConnectionLost(TemporaryError):
    """The connection was lost before the server answered, so the outcome is unknown."""

    def __init__(self, message: str, answers: Sequence[Event]) -> None:
        super().__init__(message)
        # What it told until then.
        self.answers = answers


@dataclass(slots=True)
class Exchange:
    """One command and the replies to it so far."""

    token: str
    done: asyncio.Future[None]
    # What may be the server's answer, in order. Whoever asked knows what belongs to the question.
    answers: list[Event] = field(default_factory=list)


class Exchanges:
    """The unfinished exchanges, the oldest first. The server is answering the oldest."""

    def __init__(self) -> None:
        self._tokens = (f"asked-{number}" for number in count(1))
        self._open: dict[str, Exchange] = {}

    def begin(self) -> Exchange:
        """Begin an exchange and return it."""
        exchange = Exchange(next(self._tokens), asyncio.get_running_loop().create_future())
        self._open[exchange.token] = exchange
        return exchange

    def end(self, exchange: Exchange) -> None:
        """End the oldest exchange if the token of a PONG is its own."""
        self._open.pop(exchange.token, None)

    def received(self, event: Event) -> None:
        """Add an event to the oldest exchange."""
        match event:
            case Answered(token) if token in self._open:
                _settle(self._open[token])
            case Refused() | Failed() | Told() | Replayed() | Echoed():
                for exchange in self._open.values():
                    if not exchange.done.done():
                        exchange.answers.append(event)
                        break

    def connection_lost(self) -> None:
        """Fail every unfinished exchange."""
        why = "the connection was lost; it may or may not have been done"
        for exchange in self._open.values():
            _settle(exchange, ConnectionLost(why, exchange.answers))


def _settle(exchange: Exchange, error: CultureError | None = None) -> None:
    if exchange.done.done():
        return
    if error is None:
        exchange.done.set_result(None)
    else:
        exchange.done.set_exception(error)
