"""A ledger whose clock is set by the test, and the settings of agents that use it."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from culture.agent.ledger.cost_control import CostSettings
from culture.agent.ledger.limits import make_limits
from culture.agent.ledger.settings import cost_settings
from culture.config.agent.budgets import BudgetsConfig
from culture.config.agents import AgentConfig, AgentsConfig
from culture.store.ledger.file import FILE, LedgerFile

MakeCosts = Callable[..., CostSettings]


class Clock:
    """The time of day, which a test moves on."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def make_costs(home: Path, clock: Clock) -> MakeCosts:
    """Each call opens the same ledger, as the processes of a host do; it asks again after a moment."""

    def make(nick: str = "spark-claude", *, login: str = "claude:ori", **budgets: float) -> CostSettings:
        agent = AgentConfig(nick=nick)
        config = AgentsConfig(budgets=BudgetsConfig(**budgets), agents=(agent,))
        ledger = LedgerFile(home / FILE, make_limits(config), wall_clock=clock)
        made = cost_settings(config, agent, ledger, login=login)
        return replace(made, recheck_s=0.1, jitter_s=0.0)

    return make


@pytest.fixture
def ledger(home: Path, clock: Clock) -> Iterator[LedgerFile]:
    """The same ledger, as culturectl reads it."""
    opened = LedgerFile(home / FILE, lambda nick: [], wall_clock=clock)
    yield opened
    opened.close()
