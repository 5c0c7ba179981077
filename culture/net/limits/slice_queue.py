"""Run long commands in slices: one slice per loop tick, round-robin by client."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

from culture.ircd.auth.questions import AccountQuestion
from culture.ircd.server import Ircd
from culture.ircd.session import Session
from culture.net.connection import Connection


class SliceQueue:
    """Schedules the slices of long commands; a client over its share of the loop waits longer."""

    def __init__(
        self,
        ircd: Ircd,
        connection_of: Callable[[Session], Connection | None],
        on_slice: Callable[[Session], None],
    ) -> None:
        """Call `on_slice` with the session after each slice."""
        self._ircd = ircd
        self._connection_of = connection_of
        self._on_slice = on_slice
        self._loop = asyncio.get_running_loop()
        self._ready: deque[AccountQuestion[Any]] = deque()

    def take(self) -> None:
        """Schedule the slices that the core deferred since the last call."""
        for question in self._ircd.slices.take():
            self._schedule(question)

    def _schedule(self, question: AccountQuestion[Any]) -> None:
        connection = self._connection_of(question.session)
        if connection is None or question.session.question is not question:
            # The client left.
            return
        pause_s = connection.pause_s()
        if pause_s:
            self._loop.call_later(pause_s, self._schedule, question)
            return
        self._ready.append(question)
        if len(self._ready) == 1:
            self._loop.call_soon(self._run)

    def _run(self) -> None:
        question = self._ready[0]
        session, connection = question.session, self._connection_of(question.session)
        if connection is not None:
            began_at = self._loop.time()
            try:
                self._ircd.answered(question, None)
            except Exception:
                connection.give_up()
            connection.charge_time(self._loop.time() - began_at)
            self._on_slice(session)
        self._ready.popleft()
        if self._ready:
            self._loop.call_soon(self._run)
