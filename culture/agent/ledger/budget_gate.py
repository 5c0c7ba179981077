"""Hold turns back while a budget does not cover them or the quota of the login is used up."""

import asyncio
import random
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from culture.agent.ledger.account import Account
from culture.agent.turns.gate import HeldBack, HoldKind
from culture.agent.turns.turns import task_name
from culture.errors import CultureError
from culture.store.agent.queue import QueueEntry
from culture.store.ledger.records import Answer, BudgetState, Quota, usd

# How often an agent that is held back asks the ledger again: the day changes, other agents settle their
# turns, and clocks jump. It calls no model.
RECHECK_S: Final = 30.0
# Agents of one login resume at different moments after the reset.
JITTER_S: Final = 20.0


class BudgetGate:
    """Reserves money for each turn that begins. It must be the last gate."""

    def __init__(
        self,
        account: Account,
        *,
        wall_clock: Callable[[], float],
        wake: Callable[[], None],
        on_held: Callable[[HeldBack, Sequence[QueueEntry]], None],
        recheck_s: float = RECHECK_S,
        jitter_s: float = JITTER_S,
    ) -> None:
        self._account = account
        self._wall_clock = wall_clock
        self._wake = wake
        self._on_held = on_held
        self._recheck_s = recheck_s
        self._most_jitter_s = jitter_s
        self._timer: asyncio.TimerHandle | None = None
        # The quota that this agent last waited for, and how long it waits beyond the reset.
        self._quota: Quota | None = None
        self._jitter_s = 0.0

    def holds_back(self, entries: Sequence[QueueEntry]) -> HeldBack | None:
        """Reserve money for a turn; return why that is not possible."""
        self.close()
        waiting = self._waits_for_jitter()
        if waiting is None:
            try:
                waiting = self._reason(self._account.begin_turn(task_name(entries)))
            except CultureError as error:
                waiting = _unreachable(error)
        if waiting is not None:
            self._ask_again()
            self._on_held(waiting, entries)
        return waiting

    def closed(self) -> HeldBack | None:
        """Return why no turn could begin now."""
        try:
            return self._waits_for_jitter() or self._reason(self._account.check())
        except CultureError as error:
            return _unreachable(error)

    def close(self) -> None:
        """Do not ask again."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _reason(self, answer: Answer) -> HeldBack | None:
        if answer.quota is not None:
            if answer.quota != self._quota:
                self._quota, self._jitter_s = answer.quota, random.uniform(0, self._most_jitter_s)
            return _quota_reason(answer.quota)
        if answer.shortage is not None:
            return HeldBack(HoldKind.BUDGET, f"waiting for budget: {_shortage(answer.shortage)}")
        return None

    def _waits_for_jitter(self) -> HeldBack | None:
        """Return the quota's reason for some more seconds after its reset."""
        quota = self._quota
        if quota is None or not 0 <= self._wall_clock() - quota.until_ms / 1000 < self._jitter_s:
            return None
        return _quota_reason(quota)

    def _ask_again(self) -> None:
        delay_s = self._recheck_s
        if self._quota is not None:
            left_s = self._quota.until_ms / 1000 + self._jitter_s - self._wall_clock()
            delay_s = min(delay_s, left_s) if left_s > 0 else delay_s
        self._timer = asyncio.get_running_loop().call_later(delay_s, self._wake)


def _shortage(budget: BudgetState) -> str:
    if budget.limit <= 0:
        return f"{budget.text}: no model is called"
    running = f", {usd(budget.held):.2f} USD are reserved by running turns" if budget.held else ""
    return f"{budget.text} are spent today{running}"


def _quota_reason(quota: Quota) -> HeldBack:
    return HeldBack(HoldKind.QUOTA, f"waiting for quota: {quota_text(quota)}")


def quota_text(quota: Quota) -> str:
    """Return which quota is used up and when it is renewed, in local time."""
    window = f"the {quota.window} quota" if quota.window else "the quota"
    until = datetime.fromtimestamp(quota.until_ms / 1000)
    return f"{window} of the login is used up until {until:%Y-%m-%d %H:%M}"


def _unreachable(error: CultureError) -> HeldBack:
    return HeldBack(HoldKind.BUDGET, f"waiting for budget: the ledger is not available: {error}")
