"""Control what an agent costs: reserve, settle, stop a turn that costs too much, and tell people."""

import asyncio
import secrets
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from culture.agent.contract import Assistant, Message, RateLimit, Result, UsageReport
from culture.agent.ledger.account import Account, Terms
from culture.agent.ledger.budget_gate import JITTER_S, RECHECK_S, BudgetGate, quota_text
from culture.agent.ledger.port import Ledger
from culture.agent.ledger.prices import PriceList
from culture.agent.reporting.alerts import Alert, AlertKind, OnAlert
from culture.agent.reporting.journal_events import JournalEvents
from culture.agent.reporting.sender_alerts import alert_senders
from culture.agent.turns.gate import HeldBack
from culture.agent.turns.interruption import Fate, Interruption
from culture.errors import CultureError
from culture.names import Folded, fold
from culture.store.agent.file import AgentFile
from culture.store.agent.queue import QueueEntry
from culture.store.ledger.records import BudgetState, News, Quota, Scope, Spender, Told, Use, usd

# Backends refuse a limit of 0.
LEAST_USD: Final = 0.01


@dataclass(frozen=True, slots=True)
class CostSettings:
    """The ledger of the host, and what agents.yaml says about the costs of one agent."""

    ledger: Ledger
    spender: Spender
    prices: PriceList
    terms: Terms
    raise_usd: float = 5.0
    # How often an agent that waits asks the ledger again, and how far apart agents resume after a reset.
    recheck_s: float = RECHECK_S
    jitter_s: float = JITTER_S


class AskToRaise(Protocol):
    """Asks people whether a budget is raised, and calls `CostControl.raise_budget` if they agree."""

    def __call__(self, text: str, scope: Scope, name: str) -> None:
        """File the question and return at once."""


class CostControl:
    """Everything that an agent does about its costs."""

    def __init__(
        self,
        settings: CostSettings,
        journal: JournalEvents,
        *,
        on_alert: OnAlert,
        wake: Callable[[], None],
        interrupt: Callable[[Interruption], object],
        restart_backend: Callable[[], Coroutine[Any, Any, None]],
        wall_clock: Callable[[], float],
        ask_to_raise: AskToRaise | None = None,
    ) -> None:
        self._settings = settings
        self._journal = journal
        self._on_alert = on_alert
        self._wake = wake
        self._interrupt = interrupt
        self._restart_backend = restart_backend
        self._ask_to_raise = ask_to_raise
        self.account = Account(
            settings.ledger,
            settings.spender,
            settings.prices,
            settings.terms,
            on_news=self._tell,
            on_error=journal.ledger_failed,
        )
        self.gate = BudgetGate(
            self.account,
            wall_clock=wall_clock,
            wake=wake,
            on_held=self._tell_senders,
            recheck_s=settings.recheck_s,
            jitter_s=settings.jitter_s,
        )
        self._restarting: asyncio.Task[None] | None = None
        # The quota that the running turn was refused for.
        self._quota: Quota | None = None
        # The conversations that were told that their messages wait, until the next turn.
        self._told: set[Folded] = set()

    def start(self, file: AgentFile) -> None:
        """Settle what a former process reserved, and move totals that the agent kept itself to the ledger."""
        try:
            if count := self.account.settle_former():
                self._journal.reservations_assumed(count)
            for past in file.past_spending():
                self.account.book_past(past)
            file.forget_past_spending()
        except CultureError as error:
            self._journal.ledger_failed(error)

    def received(self, message: Message) -> None:
        """Take what the backend reports about the costs of the running turn."""
        match message:
            case Assistant(model=model, parent=""):
                self.account.model_seen(model)
            case UsageReport():
                if why := self.account.usage_reported(message):
                    self._interrupt(Interruption(why, Fate.GIVEN_UP))
            case RateLimit():
                self._rate_limited(message)
            case _:
                return

    def end_turn(self, result: Result, turn: str) -> Use:
        """Settle the turn that ended and return what it used."""
        if not result.asked:
            return self.account.book_unasked(result)
        self._told.clear()
        quota, self._quota = self._quota, None
        if result.failed and quota is not None:
            # The messages are kept, and the turn is repeated after the reset.
            self._interrupt(Interruption(quota_text(quota), Fate.REPEATED))
        elif result.is_over_budget:
            self._interrupt(Interruption("the backend reached the limit it was started with", Fate.REPEATED))
            self._restarting = asyncio.get_running_loop().create_task(self._restart_backend())
        return self.account.end_turn(result, turn)

    def rest_usd(self) -> float | None:
        """Return what a backend that starts now may spend until it is started again; None: no limit."""
        rests = [each.limit - each.spent - each.held for each in self.account.budgets()]
        return max(usd(min(rests)), LEAST_USD) if rests else None

    def raise_budget(self, scope: Scope, name: str, by: str, raise_id: str = "") -> None:
        """Add `raise_usd` to a budget for today and let turns begin; the same id counts once."""
        amount = self._settings.raise_usd
        self.account.raise_budget(raise_id or secrets.token_hex(8), scope, name, amount, by)
        self._wake()

    def figures(self) -> dict[str, Any]:
        """Return what `culturectl status` shows: use of today and in total, and the budgets."""
        today, total = self.account.spent()
        return {
            "today": today._asdict(),
            "total": total._asdict(),
            "budgets": [_budget_row(each) for each in self.account.budgets()],
        }

    def close(self) -> None:
        """Stop asking whether turns may begin, and close the ledger."""
        self.gate.close()
        self._settings.ledger.close()

    def _tell_senders(self, held: HeldBack, entries: Sequence[QueueEntry]) -> None:
        """Tell whoever wrote a message once that it waits."""
        news = [entry for entry in entries if fold(entry.question.conversation) not in self._told]
        self._told.update(fold(entry.question.conversation) for entry in news)
        alert_senders(self._on_alert, AlertKind.HELD_BACK, f"{held.why}; your message is kept", news)

    def _rate_limited(self, limit: RateLimit) -> None:
        if not limit.is_exhausted or limit.resets_at_s is None:
            # A refusal without a reset time is retried with a back-off.
            return
        self._quota = Quota(self.account.spender.login, limit.window, int(limit.resets_at_s * 1000))
        if self.account.open_quota(self._quota):
            waits = "every agent of this host with this login waits and resumes by itself"
            self._on_alert(Alert(AlertKind.QUOTA, f"{quota_text(self._quota)}; {waits}"))

    def _tell(self, news: News) -> None:
        budget = news.budget
        if news.what is Told.WARNED:
            self._on_alert(Alert(AlertKind.BUDGET, f"has spent {budget.text} today"))
            return
        raise_by = f"raise by {self._settings.raise_usd:g} USD?"
        self._on_alert(
            Alert(AlertKind.BUDGET, f"waits for budget: {budget.text} are spent today, and no turn begins")
        )
        if self._ask_to_raise is not None and budget.limit > 0:
            self._ask_to_raise(f"{budget.text} are spent today: {raise_by}", budget.scope, budget.name)


def _budget_row(budget: BudgetState) -> dict[str, Any]:
    return {
        "scope": budget.scope,
        "name": budget.name,
        "limit_usd": usd(budget.limit),
        "spent_usd": usd(budget.spent),
        "held_usd": usd(budget.held),
    }
