"""What agents.yaml says about the costs of one agent, and where the ledger of the host is."""

import time
from collections.abc import Mapping
from pathlib import Path

from culture.agent.ledger.account import Terms
from culture.agent.ledger.client import LedgerClient
from culture.agent.ledger.cost_control import CostSettings
from culture.agent.ledger.limits import host_of, make_limits
from culture.agent.ledger.port import Ledger
from culture.agent.ledger.prices import PriceList
from culture.config.agents import AgentConfig, AgentsConfig
from culture.config.paths import ledger_socket, state_dir
from culture.store.ledger.file import FILE, LedgerFile
from culture.store.ledger.records import Spender


def open_ledger(config: AgentsConfig, nick: str, env: Mapping[str, str]) -> Ledger:
    """Return the ledger of the host: by culture-ledger for a service, as a file for a person's own agents.

    The agents of a person run as one Unix user anyway, so that a separate process would protect nothing.
    """
    if env.get("STATE_DIRECTORY"):
        return LedgerClient(ledger_socket(env), nick)
    return ledger_in(state_dir("", env), config)


def ledger_in(directory: Path, config: AgentsConfig) -> LedgerFile:
    """Open the ledger in a directory."""
    return LedgerFile(
        directory / FILE, make_limits(config), wall_clock=time.time, warn_at=config.budgets.warn_at
    )


def unlimited(agent: AgentConfig, directory: Path) -> CostSettings:
    """Return the settings of an agent without budgets, whose ledger is in its own directory."""
    config = AgentsConfig(agents=(agent,))
    return cost_settings(config, agent, ledger_in(directory, config))


def cost_settings(
    config: AgentsConfig, agent: AgentConfig, ledger: Ledger, *, login: str = "", is_rehearsing: bool = False
) -> CostSettings:
    """Return the settings of one agent. A rehearsal costs nothing unless `budgets.rehearse` is set."""
    budgets = config.budgets
    return CostSettings(
        ledger,
        Spender(agent.nick, host_of(agent.nick), agent.agent, agent.model, login),
        PriceList(config.prices, agent.model, is_free=is_rehearsing and not budgets.rehearse),
        Terms(
            is_budgeted=bool(make_limits(config)(agent.nick)),
            turn_usd=agent.budgets.turn_usd or budgets.turn_usd,
            aside_usd=budgets.aside_usd,
        ),
        raise_usd=budgets.raise_usd,
    )
