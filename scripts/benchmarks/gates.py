"""What the gates and the ledger add to the time from a mention to the prompt: one reservation on the disk."""

import time
from pathlib import Path

from figures import percentiles_ms

from culture.agent.authority.halt_gate import HaltGate
from culture.agent.authority.loop_guard import LoopGuard
from culture.agent.contract import Result
from culture.agent.ledger.account import Account
from culture.agent.ledger.budget_gate import BudgetGate
from culture.agent.ledger.settings import cost_settings, ledger_in
from culture.agent.turns.gate import Gates
from culture.config.agent.budgets import BudgetsConfig
from culture.config.agent.loop_guard import LoopGuardConfig
from culture.config.agents import AgentConfig, AgentsConfig
from culture.store.agent.file import AgentFile
from culture.store.agent.queue import QueuedMessage, QueueEntry, QueueState

NICK = "spark-agent"


def measure_gates(home: Path, count: int) -> dict[str, float]:
    """Return how long the gates take before a turn begins, in milliseconds."""
    agent = AgentConfig(nick=NICK)
    budgets = BudgetsConfig(host_usd_per_day=10_000.0, agent_usd_per_day=10_000.0)
    config = AgentsConfig(agents=(agent,), budgets=budgets)
    file, ledger = AgentFile(home / "gates"), ledger_in(home / "gates", config)
    settings = cost_settings(config, agent, ledger)
    account = Account(
        ledger, settings.spender, settings.prices, settings.terms, on_news=_ignore, on_error=_ignore
    )
    gates = Gates(
        HaltGate(file, _ignore, _ignore),
        LoopGuard(
            LoopGuardConfig(),
            file,
            (),
            own_nick=lambda: NICK,
            clock=time.monotonic,
            tell=_ignore,
            on_change=_ignore,
        ),
        BudgetGate(account, wall_clock=time.time, wake=_ignore, on_held=_ignore),
    )
    message = QueuedMessage("m1", "mention", "spark-ori", "#ops", f"@{NICK} hello", 0)
    entries = [QueueEntry(1, QueueState.QUEUED, message, 0, "", 0, "")]
    took_s = []
    try:
        for _ in range(count):
            began_s = time.perf_counter()
            held_back = gates.holds_back(entries)
            took_s.append(time.perf_counter() - began_s)
            assert held_back is None
            account.end_turn(Result(cost_usd=0.01))
    finally:
        ledger.close()
        file.close()
    return percentiles_ms(took_s)


def _ignore(*anything: object) -> None:
    return None
