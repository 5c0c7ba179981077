"""Requests to compact or to clear the context of the backend, and what became of them."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from culture.agent.contract import ContextChanged
from culture.agent.reporting.journal_events import JournalEvents
from culture.errors import TemporaryError

# How long a person waits for the outcome. The running turn has to end first.
OUTCOME_TIMEOUT_S: Final = 570.0


@dataclass(frozen=True, eq=False)
class _Request:
    # None if the agent asked.
    outcome: "asyncio.Future[ContextChanged] | None"


class ContextRequests:
    """The requests in the order in which the backend answers them.

    A person who asks waits for the outcome. The agent cannot: the backend changes its context only when the
    turn has ended. `on_note` receives the outcome for the next prompt instead.
    """

    def __init__(self, journal: JournalEvents, on_note: Callable[[str], None]) -> None:
        self._journal = journal
        self._on_note = on_note
        self._open: deque[_Request] = deque()

    async def ask_for_agent(self, send: Callable[[], Awaitable[None]]) -> None:
        """Send a request of the agent itself."""
        await self._send(_Request(None), send)

    async def ask_for_person(self, send: Callable[[], Awaitable[None]]) -> ContextChanged:
        """Send a request of a person and return the outcome."""
        outcome: asyncio.Future[ContextChanged] = asyncio.get_running_loop().create_future()
        await self._send(_Request(outcome), send)
        try:
            async with asyncio.timeout(OUTCOME_TIMEOUT_S):
                return await outcome
        except TimeoutError:
            hint = "the turn may still be running: culturectl status"
            raise TemporaryError(f"not done within {OUTCOME_TIMEOUT_S:.0f} s", hint=hint) from None

    async def _send(self, request: "_Request", send: Callable[[], Awaitable[None]]) -> None:
        # First, because a backend may answer before it returns.
        self._open.append(request)
        try:
            await send()
        except BaseException:
            if request in self._open:
                self._open.remove(request)
            raise

    def received(self, changed: ContextChanged) -> None:
        """Report the outcome of the oldest open request to whoever asked."""
        self._journal.context_changed(changed)
        outcome = self._open.popleft().outcome if self._open else None
        if outcome is None:
            self._on_note(describe(changed))
        elif not outcome.done():
            outcome.set_result(changed)

    def backend_down(self, why: str) -> None:
        """Fail the open requests: the backend that had them does not run any more."""
        while self._open:
            outcome = self._open.popleft().outcome
            if outcome is not None and not outcome.done():
                outcome.set_exception(TemporaryError(why))


def describe(changed: ContextChanged) -> str:
    """Return the outcome as one sentence."""
    if changed.failed:
        return f"your context was not {changed.did}: {changed.error}"
    return f"your context was {changed.did}"
