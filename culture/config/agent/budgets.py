"""Model of `budgets:` and `prices:` in agents.yaml: what agents may spend on a day, and what tokens cost."""

from dataclasses import dataclass
from typing import Any

from culture.config.rules import at_least, checked


def _not_negative(value: Any) -> str | None:
    return None if value is None else at_least(0)(value)


def _above_zero(value: Any) -> str | None:
    return None if value is None or value > 0 else f"must be more than 0, is {value:g}"


def _share(value: float) -> str | None:
    return None if 0 < value <= 1 else f"must be more than 0 and at most 1, is {value:g}"


@dataclass(frozen=True, slots=True)
class PriceConfig:
    """What a million tokens of a model cost, in US dollars."""

    input: float = checked(_not_negative)
    output: float = checked(_not_negative)
    # Input tokens that the provider has cached; empty: the price of input tokens.
    cached: float | None = checked(_not_negative, default=None)


@dataclass(frozen=True, slots=True)
class BudgetsConfig:
    """The budgets of all agents of this host together, and the default of each."""

    # The most that all agents of this host together spend on a day; empty: no limit, 0: no model is called.
    host_usd_per_day: float | None = checked(_not_negative, default=None)
    # The most that each agent spends on a day, unless the agent has a budget of its own.
    agent_usd_per_day: float | None = checked(_not_negative, default=None)
    # What a turn reserves before it begins: the most that it is expected to cost.
    turn_usd: float = checked(_above_zero, default=1.0)
    # What a check of the supervisor, or a question aside, reserves.
    aside_usd: float = checked(_above_zero, default=0.25)
    # People are told when this share of a budget is spent.
    warn_at: float = checked(_share, default=0.8)
    # How much people are asked to add when a budget is spent.
    raise_usd: float = checked(_above_zero, default=5.0)
    # Whether the scripted model counts as if it cost money, so that budgets can be tried out.
    rehearse: bool = False


@dataclass(frozen=True, slots=True)
class AgentBudgetsConfig:
    """The budgets of one agent; empty: those of all agents."""

    usd_per_day: float | None = checked(_not_negative, default=None)
    turn_usd: float | None = checked(_above_zero, default=None)
