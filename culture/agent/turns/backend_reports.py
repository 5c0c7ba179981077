"""Dispatch the messages of a backend to the turn, the transcript, the spending record and the supervisor."""

from collections.abc import Callable

from culture.agent.contract import (
    Assistant,
    ContextChanged,
    Message,
    RateLimit,
    Result,
    SupervisorBase,
    ToolResult,
    Usage,
    UsageReport,
)
from culture.agent.reporting.journal_events import JournalEvents
from culture.agent.reporting.transcript import Transcriber
from culture.agent.turns.turn_loop import TurnLoop
from culture.agent.turns.turns import Turns
from culture.errors import CultureError
from culture.store.agent.file import AgentFile
from culture.store.agent.spending import Use


class BackendReports:
    """Receives every message that the backend reports."""

    def __init__(
        self,
        turns: Turns,
        turn_loop: TurnLoop,
        file: AgentFile,
        journal: JournalEvents,
        transcriber: Transcriber,
        supervisor: SupervisorBase | None,
        *,
        today: Callable[[], str],
        is_rehearsing: bool,
        on_change: Callable[[], None],
        on_error: Callable[[CultureError], None],
    ) -> None:
        self._turns = turns
        self._turn_loop = turn_loop
        self._file = file
        self._journal = journal
        self._transcriber = transcriber
        self._supervisor = supervisor
        self._today = today
        self._is_rehearsing = is_rehearsing
        self._on_change = on_change
        self._on_error = on_error
        # The used share of the model's context window at the end of the last turn.
        self.context: float | None = None
        self.last_error = ""

    async def received(self, message: Message) -> None:
        """Record a message and pass it on to the supervisor."""
        # The transcript comes first: `_take` may end the turn, and the message belongs before its end.
        self._transcriber.received(message)
        try:
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
            case Result(asked=False):
                use = self._use_of(message)
                self._journal.unasked_turn_ended(use, message.duration_ms)
                with self._file.at_once():
                    self._file.spending.add(self._today(), use)
            case Result():
                self.context = message.context
                self.last_error = message.error or self.last_error
                self._turn_loop.turn_ended(message, self._use_of(message))
                self._on_change()
            case ContextChanged() | UsageReport() | RateLimit():
                return

    def _use_of(self, result: Result) -> Use:
        usage = result.usage or Usage()
        # A rehearsal costs nothing, whatever the backend computes.
        cost_usd = None if self._is_rehearsing else result.cost_usd
        return Use(usage.input_tokens, usage.cached_tokens, usage.output_tokens, cost_usd)
