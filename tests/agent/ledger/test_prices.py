"""What tokens cost, and which budgets cannot be kept."""

from typing import Any

import pytest

from culture.agent.contract import Usage
from culture.agent.ledger.prices import PriceList, check_budgets, cost_of
from culture.config.agent.budgets import PriceConfig
from culture.config.agents import AgentsConfig
from culture.config.loader import parse
from culture.errors import ConfigError

PRICE = PriceConfig(input=1.25, output=10, cached=0.125)


def config_of(text: str) -> AgentsConfig:
    return parse(text, AgentsConfig, where="agents.yaml")


def problems(text: str, *, is_rehearsing: bool = False) -> list[Any]:
    config = config_of(text)
    try:
        check_budgets(config, config.agents[0], "agents.yaml", is_rehearsing=is_rehearsing)
    except ConfigError as error:
        return [(problem.what, problem.hint) for problem in error.problems]
    return []


def test_cached_tokens_have_a_price_of_their_own():
    assert cost_of(Usage(1_000_000, 400_000, 100_000), PRICE) == 750_000 + 50_000 + 1_000_000
    assert cost_of(Usage(1_000_000, 400_000, 0), PriceConfig(input=2, output=0)) == 2_000_000


def test_the_figure_of_the_backend_wins_over_the_price_table():
    prices = PriceList({"gpt-5": PRICE}, "gpt-5")

    assert prices.use_of(Usage(1_000_000), 0.5).cost == 500_000
    assert prices.use_of(Usage(1_000_000), None).cost == 1_250_000


def test_the_model_that_ran_is_looked_up_before_the_configured_one():
    prices = PriceList({"gpt-5": PRICE, "small": PriceConfig(input=0.1, output=0.4)}, "gpt-5")

    assert prices.use_of(Usage(1_000_000), None, "small").cost == 100_000
    assert prices.use_of(Usage(1_000_000), None, "gpt-5-2026-10").cost == 1_250_000


def test_without_a_price_nobody_knows_the_cost():
    assert PriceList({}, "gpt-5").use_of(Usage(10), None).cost is None


def test_a_rehearsal_costs_nothing():
    assert PriceList({"gpt-5": PRICE}, "gpt-5", is_free=True).use_of(Usage(10), 7.0).cost == 0


def test_a_budget_without_a_price_is_a_configuration_error():
    [(what, hint)] = problems(
        "budgets: {agent_usd_per_day: 5}\nagents: [{nick: spark-codex, agent: codex, model: gpt-5}]"
    )

    assert what == (
        "budgets.agent_usd_per_day cannot be kept: "
        "codex does not report costs, and 'prices' has no model 'gpt-5'"
    )
    assert hint is not None
    assert hint.startswith("prices: {'gpt-5': {input: ")


def test_a_budget_for_a_model_without_a_name_is_a_configuration_error():
    [(what, hint)] = problems("agents: [{nick: spark-x, agent: acp, budgets: {usd_per_day: 5}}]")

    assert what.startswith("agent 'spark-x': budgets.usd_per_day cannot be kept: acp does not report costs")
    assert hint == "set model of agent 'spark-x', and its price in 'prices'"


@pytest.mark.parametrize(
    "text",
    [
        "budgets: {agent_usd_per_day: 5}\nagents: [{nick: spark-claude}]",
        "budgets: {agent_usd_per_day: 0}\nagents: [{nick: spark-codex, agent: codex}]",
        "agents: [{nick: spark-codex, agent: codex}]",
        "budgets: {host_usd_per_day: 5}\nprices: {gpt-5: {input: 1, output: 2}}\n"
        "agents: [{nick: spark-codex, agent: codex, model: gpt-5}]",
    ],
    ids=["claude reports costs", "no call costs nothing", "no budget", "priced"],
)
def test_a_budget_that_can_be_kept_is_accepted(text: str):
    assert problems(text) == []


def test_a_rehearsal_needs_prices_only_if_it_counts():
    text = "budgets: {{agent_usd_per_day: 5, rehearse: {}}}\nagents: [{{nick: spark-codex, agent: codex}}]"

    assert problems(text.format("false"), is_rehearsing=True) == []
    assert len(problems(text.format("true"), is_rehearsing=True)) == 1


def test_a_budget_below_one_turn_is_a_configuration_error():
    [(what, hint)] = problems("budgets: {host_usd_per_day: 0.5}\nagents: [{nick: spark-claude}]")

    assert what == (
        "budgets.host_usd_per_day: 0.5 USD is less than the 1 USD that a turn of 'spark-claude' reserves"
    )
    assert hint == "set turn_usd of agent 'spark-claude' to 0.5 or less"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("budgets: {agent_usd_per_day: -1}", "must be at least 0"),
        ("budgets: {turn_usd: 0}", "must be more than 0"),
        ("budgets: {warn_at: 80}", "must be more than 0 and at most 1"),
        ("prices: {gpt-5: {input: 1}}", "missing key 'output'"),
    ],
)
def test_wrong_values_are_refused(text: str, wrong: str):
    with pytest.raises(ConfigError, match=wrong):
        config_of(text)
