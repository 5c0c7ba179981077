"""Dispatch the messages of a backend to the turn, the transcript, the ledger and the supervisor."""

from collections.abc import Callable

from culture.agent.contract import (
    Assistant,
    ContextChanged,
    Message,
    RateLimit,
    Result,
    SupervisorBase,
    ToolResult,
    UsageReport,
)
from culture.agent.ledger.cost_control import CostControl
from culture.agent.reporting.journal_events import JournalEvents
from culture.agent.reporting.transcript import Transcriber
from culture.agent.turns.context_requests import ContextRequests
from culture.agent.turns.turn_loop import TurnLoop
from culture.agent.turns.turns import Turns
from culture.errors import CultureError


class BackendReports:
    """Receives every message that the backend reports."""

    def __init__(
        self,
        turns: Turns,
        turn_loop: TurnLoop,
        costs: CostControl,
        journal: JournalEvents,
        transcriber: Transcriber,
        supervisor: SupervisorBase | None,
        *,
        on_change: Callable[[], None],
        on_error: Callable[[CultureError], None],
    ) -> None:
        self._turns = turns
        self._turn_loop = turn_loop
        self._journal = journal
        self._transcriber = transcriber
        self._supervisor = supervisor
        self._costs = costs
        self.context_requests = ContextRequests(journal, turn_loop.add_note)
        self._on_change = on_change
        self._on_error = on_error
        # The used share of the model's context window at the end of the last turn.
        self.context: float | None = None
        self.last_error = ""

    def backend_down(self, why: str) -> None:
        """Record that the backend does not run any more."""
        self.last_error = why
        self.context_requests.backend_down(why)

    async def received(self, message: Message) -> None:
        """Record a message and pass it on to the supervisor."""
        # The transcript comes first: `_take` may end the turn, and the message belongs before its end.
        self._transcriber.received(message)
        try:
            self._costs.received(message)
            self._take(message)
        except CultureError as error:
            self._on_error(error)
        if self._supervisor is not None:
            await self._supervisor.observe(message)

    def _take(self, message: Message) -> None:
        match message:
            case Assistant():
                self._turns.said(message)
            case ToolResult():
                self._turns.returned(message)
            case Result():
                self._turn_ended(message)
            case ContextChanged():
                self.context_requests.received(message)
            case UsageReport() | RateLimit():
                return

    def _turn_ended(self, result: Result) -> None:
        turn = self._turns.current
        use = self._costs.end_turn(result, turn.id if turn is not None else "")
        if not result.asked:
            self._journal.unasked_turn_ended(use, result.duration_ms)
            return
        self.context = result.context
        self.last_error = result.error or self.last_error
        self._turn_loop.turn_ended(result, use)
        self._on_change()
