"""What a turn cost: as the backend reports it, or by the price table of agents.yaml."""

from collections.abc import Mapping
from typing import Final

from culture.agent.contract import Usage
from culture.config.agent.budgets import PriceConfig
from culture.config.agents import AgentConfig, AgentsConfig
from culture.errors import ConfigError, Problem
from culture.store.ledger.records import Use, micro_usd

# The backends that report what each turn costs.
PRICED_BACKENDS: Final = frozenset({"claude"})


class PriceList:
    """Computes the cost of tokens of one agent."""

    def __init__(self, prices: Mapping[str, PriceConfig], model: str, *, is_free: bool = False) -> None:
        """`model` is the configured one; a free agent rehearses, and its turns cost nothing."""
        self._prices = prices
        self._model = model
        self._is_free = is_free

    def use_of(self, usage: Usage | None, cost_usd: float | None, model: str = "") -> Use:
        """Return tokens and cost. The backend's own figure wins over the price table."""
        tokens = usage or Usage()
        return Use(
            tokens.input_tokens,
            tokens.cached_tokens,
            tokens.output_tokens,
            0 if self._is_free else self._cost(usage, cost_usd, model),
        )

    def _cost(self, usage: Usage | None, cost_usd: float | None, model: str) -> int | None:
        if cost_usd is not None:
            return micro_usd(cost_usd)
        price = self._prices.get(model) or self._prices.get(self._model)
        if price is None or usage is None:
            return None
        return cost_of(usage, price)


def cost_of(usage: Usage, price: PriceConfig) -> int:
    """Return the price of tokens in micro-dollars: a price per million tokens is one per token in these."""
    cached = price.input if price.cached is None else price.cached
    fresh_tokens = usage.input_tokens - usage.cached_tokens
    cost = fresh_tokens * price.input + usage.cached_tokens * cached + usage.output_tokens * price.output
    return round(cost)


def check_budgets(config: AgentsConfig, agent: AgentConfig, where: str, *, is_rehearsing: bool) -> None:
    """Raise ConfigError if a budget of the agent cannot be kept: without prices, or below one turn."""
    budgets = config.budgets
    limits = {
        f"agent '{agent.nick}': budgets.usd_per_day": agent.budgets.usd_per_day,
        "budgets.agent_usd_per_day": None
        if agent.budgets.usd_per_day is not None
        else budgets.agent_usd_per_day,
        "budgets.host_usd_per_day": budgets.host_usd_per_day,
    }
    given = {key: limit for key, limit in limits.items() if limit is not None}
    turn_usd = agent.budgets.turn_usd or budgets.turn_usd
    problems = [
        Problem(
            where,
            f"{key}: {limit:g} USD is less than the {turn_usd:g} USD that a turn of '{agent.nick}' reserves",
            f"set turn_usd of agent '{agent.nick}' to {limit:g} or less",
        )
        for key, limit in given.items()
        if 0 < limit < turn_usd
    ]
    is_counted = any(given.values()) and not (is_rehearsing and not budgets.rehearse)
    if is_counted and agent.agent not in PRICED_BACKENDS and agent.model not in config.prices:
        problems.append(_unpriced(agent, next(key for key, limit in given.items() if limit), where))
    if problems:
        raise ConfigError(problems)


def _unpriced(agent: AgentConfig, key: str, where: str) -> Problem:
    if agent.model:
        what = f"{agent.agent} does not report costs, and 'prices' has no model '{agent.model}'"
        hint = f"prices: {{'{agent.model}': {{input: 1.25, cached: 0.125, output: 10}}}}, per million tokens"
    else:
        what = f"{agent.agent} does not report costs, and agent '{agent.nick}' names no model"
        hint = f"set model of agent '{agent.nick}', and its price in 'prices'"
    return Problem(where, f"{key} cannot be kept: {what}", hint)
