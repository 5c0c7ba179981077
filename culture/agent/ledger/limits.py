"""The budgets of each agent of a host, from agents.yaml."""

from collections.abc import Sequence

from culture.config.agents import AgentConfig, AgentsConfig
from culture.store.ledger.file import LimitsOf
from culture.store.ledger.records import Limit, Scope, micro_usd


def host_of(nick: str) -> str:
    """Return the host that an agent belongs to, which its nick begins with."""
    return nick.partition("-")[0]


def make_limits(config: AgentsConfig) -> LimitsOf:
    """Return the function that knows the budgets of each agent: its own first, then that of the host."""
    agents = {agent.nick: agent for agent in config.agents}

    def limits_of(nick: str) -> Sequence[Limit]:
        agent = agents.get(nick)
        wanted: tuple[tuple[Scope, str, float | None], ...] = (
            ("agent", nick, agent_usd_per_day(config, agent) if agent else config.budgets.agent_usd_per_day),
            ("host", host_of(nick), config.budgets.host_usd_per_day),
        )
        return [Limit(scope, name, micro_usd(limit)) for scope, name, limit in wanted if limit is not None]

    return limits_of


def agent_usd_per_day(config: AgentsConfig, agent: AgentConfig) -> float | None:
    """Return the budget of one agent, or None if it has none."""
    own = agent.budgets.usd_per_day
    return config.budgets.agent_usd_per_day if own is None else own
