"""Knowing what became of what we said: a PING behind each message, an objection or a PONG back.

Servers work in order, so the answer to a PING comes after every objection to the lines before it.
That needs no capability, and so works on every server.
"""

import asyncio
from itertools import count

from culture.client.events import Answered, Event, Refused
from culture.errors import CultureError, TemporaryError, UnavailableError
from culture.names import fold


class Deliveries:
    def __init__(self) -> None:
        self._tokens = (f"said-{number}" for number in count(1))
        self._waiting: dict[str, tuple[str, asyncio.Future[None]]] = {}

    def begin(self, target: str) -> tuple[str, asyncio.Future[None]]:
        token = next(self._tokens)
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[token] = (target, future)
        return token, future

    def end(self, token: str) -> None:
        self._waiting.pop(token, None)

    def received(self, event: Event) -> None:
        match event:
            case Answered(token) if token in self._waiting:
                _settle(self._waiting[token][1])
            case Refused(about=about, text=text):
                # The oldest one to that target: objections come in the order of what was said.
                for target, future in self._waiting.values():
                    if fold(target) == fold(about) and not future.done():
                        _settle(future, UnavailableError(f"'{target}': {text}"))
                        break

    def connection_lost(self) -> None:
        why = TemporaryError("the connection was lost; it may or may not have been said")
        for _, future in self._waiting.values():
            _settle(future, why)


def _settle(future: asyncio.Future[None], error: CultureError | None = None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)
