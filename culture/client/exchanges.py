"""Knowing what became of what we asked for: a PING behind it, and all that comes before the PONG.

Servers work in order, so the answer to a PING comes after every answer, and every objection, to the lines
before it. That needs no capability, and so works on every server.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

from culture.client.events import Answered, Echoed, Event, Failed, Refused, Replayed, Told
from culture.errors import CultureError, TemporaryError


class ConnectionLost(TemporaryError):
    """Before the server had answered: what was asked for may or may not have been done."""

    def __init__(self, message: str, answers: Sequence[Event]) -> None:
        super().__init__(message)
        # What it told until then.
        self.answers = answers


@dataclass(slots=True)
class Exchange:
    token: str
    done: asyncio.Future[None]
    # What may be the server's answer, in order. Whoever asked knows what belongs to the question.
    answers: list[Event] = field(default_factory=list)


class Exchanges:
    """Those that are going on, the oldest first: it is the one that the server is answering."""

    def __init__(self) -> None:
        self._tokens = (f"asked-{number}" for number in count(1))
        self._open: dict[str, Exchange] = {}

    def begin(self) -> Exchange:
        exchange = Exchange(next(self._tokens), asyncio.get_running_loop().create_future())
        self._open[exchange.token] = exchange
        return exchange

    def end(self, exchange: Exchange) -> None:
        self._open.pop(exchange.token, None)

    def received(self, event: Event) -> None:
        match event:
            case Answered(token) if token in self._open:
                _settle(self._open[token])
            case Refused() | Failed() | Told() | Replayed() | Echoed():
                for exchange in self._open.values():
                    if not exchange.done.done():
                        exchange.answers.append(event)
                        break

    def connection_lost(self) -> None:
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
