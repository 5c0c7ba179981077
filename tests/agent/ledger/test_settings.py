"""What agents.yaml says about the costs of one agent, and which ledger it uses."""

from pathlib import Path

import pytest

from culture.agent.contract import Usage
from culture.agent.ledger.client import LedgerClient
from culture.agent.ledger.cost_control import CostSettings
from culture.agent.ledger.limits import make_limits
from culture.agent.ledger.settings import cost_settings, ledger_in, open_ledger
from culture.config.agents import AgentsConfig
from culture.config.loader import parse
from culture.store.ledger.file import LedgerFile
from culture.store.ledger.records import Limit, micro_usd


def config_of(text: str) -> AgentsConfig:
    return parse(text, AgentsConfig, where="agents.yaml")


def settings_of(home: Path, text: str, *, is_rehearsing: bool = False) -> CostSettings:
    config = config_of(text)
    ledger = ledger_in(home, config)
    ledger.close()
    return cost_settings(config, config.agents[0], ledger, is_rehearsing=is_rehearsing)


def test_a_budget_of_the_agent_replaces_that_of_all_agents():
    limits_of = make_limits(
        config_of(
            "budgets: {host_usd_per_day: 9, agent_usd_per_day: 5}\n"
            "agents: [{nick: spark-a, budgets: {usd_per_day: 0}}, {nick: spark-b}]"
        )
    )

    host = Limit("host", "spark", micro_usd(9))
    assert limits_of("spark-a") == [Limit("agent", "spark-a", 0), host]
    assert limits_of("spark-b") == [Limit("agent", "spark-b", micro_usd(5)), host]


def test_an_agent_without_a_budget_reserves_nothing(home: Path):
    assert settings_of(home, "agents: [{nick: spark-a}]").terms.turn == 0
    budgets = "budgets: {host_usd_per_day: 9, turn_usd: 2}\n"
    assert settings_of(home, f"{budgets}agents: [{{nick: spark-a}}]").terms.turn == micro_usd(2)
    own = settings_of(home, f"{budgets}agents: [{{nick: spark-a, budgets: {{turn_usd: 0.5}}}}]")
    assert own.terms.turn == micro_usd(0.5)


@pytest.mark.parametrize(("rehearse", "cost"), [("false", 0), ("true", 700_000)])
def test_a_rehearsal_counts_only_if_budgets_are_rehearsed(home: Path, rehearse: str, cost: int):
    text = f"budgets: {{agent_usd_per_day: 5, rehearse: {rehearse}}}\nagents: [{{nick: spark-a}}]"

    made = settings_of(home, text, is_rehearsing=True)

    assert made.prices.use_of(Usage(10), 0.7).cost == cost


def test_a_service_asks_culture_ledger_and_a_persons_agents_share_a_file(home: Path):
    config = config_of("agents: [{nick: spark-a}]")
    service = open_ledger(config, "spark-a", {"STATE_DIRECTORY": str(home)})
    own = open_ledger(config, "spark-a", {"CULTURE_HOME": str(home)})

    assert isinstance(service, LedgerClient)
    assert isinstance(own, LedgerFile)
    assert (home / "state" / "ledger.db").exists()
    own.close()
