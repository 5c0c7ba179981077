"""What one agent spends: reserve before each model session, settle after it.

Other parts of the agent that call a model use `side_session`, so that no model is called without money.
"""

import contextlib
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from culture.agent.contract import Result, Usage, UsageReport
from culture.agent.ledger.port import Ledger
from culture.agent.ledger.prices import PriceList
from culture.errors import CultureError, TemporaryError
from culture.store.agent.file import PastSpending
from culture.store.ledger.records import (
    Answer,
    BudgetState,
    Hold,
    Kind,
    Limit,
    News,
    Quota,
    Scope,
    Spender,
    Spent,
    Use,
    micro_usd,
)


@dataclass(frozen=True, slots=True)
class Terms:
    """What an agent reserves, in US dollars; nothing if it has no budget."""

    is_budgeted: bool = False
    turn_usd: float = 1.0
    aside_usd: float = 0.25

    @property
    def turn(self) -> int:
        """Return what a turn reserves, in micro-dollars."""
        return micro_usd(self.turn_usd) if self.is_budgeted else 0

    @property
    def aside(self) -> int:
        """Return what a side session reserves, in micro-dollars."""
        return micro_usd(self.aside_usd) if self.is_budgeted else 0


@dataclass(slots=True)
class _RunningTurn:
    hold_id: str
    task: str
    reserved: int
    use: Use = field(default_factory=Use)
    # The most expensive step between two reports so far: the next one may cost as much.
    largest_step: int = 0
    model: str = ""


@dataclass(slots=True)
class SideSession:
    """A model session besides the turns, while it runs."""

    usage: Usage | None = None
    cost_usd: float | None = None

    def used(self, usage: Usage | None, cost_usd: float | None) -> None:
        """Say what the session used; without this call, its reservation counts as spent."""
        self.usage, self.cost_usd = usage or Usage(), cost_usd


class Account:
    """The entries of one agent in the ledger of its host."""

    def __init__(
        self,
        ledger: Ledger,
        spender: Spender,
        prices: PriceList,
        terms: Terms,
        *,
        on_news: Callable[[News], None],
        on_error: Callable[[CultureError], None],
    ) -> None:
        self._ledger = ledger
        self.spender = spender
        self._prices = prices
        self._terms = terms
        self._on_news = on_news
        self._on_error = on_error
        self._owner = secrets.token_hex(8)
        self._is_former_settled = False
        self._turn: _RunningTurn | None = None

    def settle_former(self) -> int:
        """Count what former processes of this agent reserved as spent; return how many sessions it was."""
        count = self._ledger.settle_foreign(self.spender.agent, self._owner)
        self._is_former_settled = True
        return count

    # Turns

    def begin_turn(self, task: str) -> Answer:
        """Reserve money for a turn.

        Raises CultureError if the ledger is away and the agent has a budget; an agent without one goes on.
        """
        if self._turn is not None:
            # Nobody reported the end of the last turn.
            self.end_turn(None)
        hold = self._hold("turn", self._terms.turn, task)
        try:
            if not self._is_former_settled:
                # The ledger was away when this process began.
                self.settle_former()
            answer = self._ledger.reserve(hold)
        except CultureError as error:
            if self._terms.is_budgeted:
                raise
            self._on_error(error)
            answer = Answer()
        self._tell(answer.news)
        if answer.is_granted:
            self._turn = _RunningTurn(hold.id, task, hold.amount)
        return answer

    def check(self) -> Answer:
        """Return whether a turn could begin now, without an effect."""
        return self._ledger.check(self.spender.agent, self.spender.login, self._terms.turn)

    def model_seen(self, model: str) -> None:
        """Note which model runs the turn."""
        if self._turn is not None and model:
            self._turn.model = model

    def usage_reported(self, report: UsageReport) -> str:
        """Record what the running turn used so far; return why it must end now, or nothing."""
        turn = self._turn
        if turn is None:
            return ""
        use = self._prices.use_of(report.usage, report.cost_usd, turn.model)
        step = (use.cost or 0) - (turn.use.cost or 0)
        turn.use, turn.largest_step = use, max(turn.largest_step, step)
        try:
            self._ledger.progress(turn.hold_id, use)
            return self._reserve_more(turn)
        except CultureError as error:
            self._on_error(error)
            return f"the ledger does not answer: {error}" if self._is_short(turn) else ""

    def _reserve_more(self, turn: _RunningTurn) -> str:
        if not self._is_short(turn):
            return ""
        missing = (turn.use.cost or 0) + turn.largest_step - turn.reserved
        amount = max(missing, self._terms.turn)
        answer = self._ledger.extend(turn.hold_id, amount)
        if not answer.is_granted and missing < amount:
            amount = missing
            answer = self._ledger.extend(turn.hold_id, amount)
        self._tell(answer.news)
        if answer.shortage is not None:
            return f"the budget is spent: {answer.shortage.text}"
        turn.reserved += amount
        return ""

    def _is_short(self, turn: _RunningTurn) -> bool:
        """Return whether one more step like the most expensive one would go beyond the reservation."""
        return self._terms.is_budgeted and (turn.use.cost or 0) + turn.largest_step > turn.reserved

    def end_turn(self, result: Result | None, turn_id: str = "") -> Use:
        """Settle the running turn and return what it used. None: its backend did not report an end."""
        turn, self._turn = self._turn, None
        model = turn.model if turn is not None else ""
        if result is None:
            use = turn.use if turn is not None else Use()
        else:
            use = self._prices.use_of(result.usage, result.cost_usd, model)
            if turn is not None and (result.usage is None or use.cost is None):
                use = _more(use, turn.use)
        if turn is None:
            self._book("turn", use, turn_id)
        else:
            self._write(lambda: self._tell(self._ledger.settle(turn.hold_id, use, turn=turn_id, model=model)))
        return use

    def book_unasked(self, result: Result) -> Use:
        """Book a turn that the backend began by itself and return what it used."""
        use = self._prices.use_of(result.usage, result.cost_usd)
        self._book("turn", use, "")
        return use

    # Model sessions besides the turns

    @contextlib.contextmanager
    def side_session(
        self, kind: Literal["supervisor", "aside"], task: str = "", *, backend: str = "", model: str = ""
    ) -> Iterator[SideSession]:
        """Reserve money for one model session and settle it at the end of the block.

        The task is that of the running turn if none is given. `backend` and `model` are given where they
        differ from the agent's. Raises TemporaryError without a
        model call if a budget does not cover it or the quota is used up.
        """
        task = task or (self._turn.task if self._turn is not None else "")
        hold = self._hold(kind, self._terms.aside, task, self._spender_of(backend, model))
        answer = self._ledger.reserve(hold)
        self._tell(answer.news)
        if answer.shortage is not None:
            raise TemporaryError(f"the budget is spent: {answer.shortage.text}")
        if answer.quota is not None:
            raise TemporaryError("the quota of the login is used up")
        session = SideSession()
        try:
            yield session
        finally:
            use = self._prices.use_of(session.usage, session.cost_usd, model)
            self._write(lambda: self._tell(self._ledger.settle(hold.id, use)))

    # Budgets and quotas

    def raise_budget(self, raise_id: str, scope: Scope, name: str, amount_usd: float, by: str) -> None:
        """Add to a budget for today; the same id counts once."""
        self._ledger.raise_budget(raise_id, Limit(scope, name, micro_usd(amount_usd)), by)

    def open_quota(self, quota: Quota) -> bool:
        """Stop all agents with this login until the reset; return whether this agent is the first to know."""
        try:
            return self._ledger.open_quota(quota, self.spender.agent)
        except CultureError as error:
            self._on_error(error)
            return False

    def budgets(self) -> list[BudgetState]:
        """Return the budgets of this agent; none while the ledger is away."""
        try:
            return self._ledger.budgets(self.spender.agent)
        except CultureError:
            return []

    def spent(self) -> tuple[Spent, Spent]:
        """Return what the agent used today and in total; zeros while the ledger is away."""
        try:
            agent = self.spender.agent
            return self._ledger.spent_today(agent), self._ledger.spent_in_total(agent)
        except CultureError:
            nothing = Spent(0, 0, 0, 0, 0.0)
            return nothing, nothing

    def book_past(self, past: PastSpending) -> None:
        """Book the totals of a day from before there was a ledger. Booking a day again has no effect."""
        hold = Hold(f"{self.spender.agent}/{past.day}", "turn", self.spender, self._owner, 0)
        use = Use(past.input_tokens, past.cached_tokens, past.output_tokens, micro_usd(past.cost_usd))
        self._ledger.book(hold, use, turns=past.turns, day=past.day)

    def _book(self, kind: Kind, use: Use, turn_id: str) -> None:
        hold = self._hold(kind, 0, "")
        self._write(lambda: self._tell(self._ledger.book(hold, use, turn=turn_id)))

    def _spender_of(self, backend: str, model: str) -> Spender:
        spender = self.spender._replace(model=model or self.spender.model)
        if backend and backend != spender.backend:
            # It has a login of its own, whose quota is not known here.
            spender = spender._replace(backend=backend, model=model, login="")
        return spender

    def _hold(self, kind: Kind, amount: int, task: str, spender: Spender | None = None) -> Hold:
        return Hold(
            f"{self.spender.agent}/{secrets.token_hex(8)}",
            kind,
            spender or self.spender,
            self._owner,
            amount,
            task,
        )

    def _tell(self, news: tuple[News, ...]) -> None:
        for each in news:
            self._on_news(each)

    def _write(self, write: Callable[[], None]) -> None:
        """Write to the ledger. A reservation that cannot be settled counts as spent at the next start."""
        try:
            write()
        except CultureError as error:
            self._on_error(error)


def _more(one: Use, other: Use) -> Use:
    """Return the larger figures of two reports about the same turn, and the cost that is known."""
    cost = one.cost if one.cost is not None else other.cost
    return Use(
        max(one.input_tokens, other.input_tokens),
        max(one.cached_tokens, other.cached_tokens),
        max(one.output_tokens, other.output_tokens),
        cost,
    )
