"""culture-ledger keeps the ledger for agents of other users: each writes its own entries, commands none."""

import asyncio
import os
import pwd
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from support.program import Program

from culture.agent.ledger.client import LedgerClient
from culture.agent.ledger.limits import make_limits
from culture.agent.ledger.service import LedgerService
from culture.config.agent.budgets import BudgetsConfig
from culture.config.agents import AgentConfig, AgentsConfig
from culture.errors import NotAllowedError, UnavailableError, UsageError
from culture.store.ledger.file import FILE, LedgerFile
from culture.store.ledger.records import Hold, Limit, Quota, Spender, Told, Use, micro_usd

ME = pwd.getpwuid(os.geteuid()).pw_name
CLAUDE = Spender("spark-claude", "spark", "claude", "opus", "claude:ori")
CONFIG = AgentsConfig(
    budgets=BudgetsConfig(agent_usd_per_day=2, host_usd_per_day=3),
    agents=(
        AgentConfig(nick="spark-claude", user=ME),
        AgentConfig(nick="spark-second", user=ME),
        AgentConfig(nick="spark-other"),
    ),
)


def hold(id: str, amount: float = 1.0, task: str = "") -> Hold:
    return Hold(id, "turn", CLAUDE, "p1", micro_usd(amount), task)


class Service:
    """The service in this process, at a socket; this is also the main process of every agent."""

    def __init__(self, home: Path) -> None:
        self.path = home / "ledger.sock"
        self.main_pid = os.getpid()
        self.ledger = LedgerFile(home / FILE, make_limits(CONFIG), wall_clock=time.time)
        self._service = LedgerService(self.ledger, lambda: CONFIG, self._main_pid)
        self._server: asyncio.Server | None = None

    async def _main_pid(self, nick: str) -> int:
        return self.main_pid

    async def start(self) -> None:
        self._server = await asyncio.start_unix_server(self._service.connected, path=self.path)

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        await self._service.close()
        self.path.unlink(missing_ok=True)

    def client(self, nick: str = "spark-claude") -> LedgerClient:
        return LedgerClient(self.path, nick, timeout_s=20)


@pytest.fixture
async def service(home: Path) -> AsyncIterator[Service]:
    service = Service(home)
    await service.start()
    yield service
    await service.stop()
    service.ledger.close()


Call = Callable[..., Awaitable[Any]]


@pytest.fixture
def call() -> Call:
    """The client waits for its answer, and the service is in the same process: each call has a thread."""
    return asyncio.to_thread


async def test_every_operation_arrives_and_comes_back(service: Service, call: Call):
    client = service.client()

    assert (await call(client.reserve, hold("spark-claude/a", 2))).is_granted
    refused = await call(client.reserve, hold("spark-claude/b"))
    await call(client.progress, "spark-claude/a", Use(5, 1, 2, 7))
    news = await call(client.settle, "spark-claude/a", Use(10, 2, 3, micro_usd(1.75)), turn="3f2a", model="x")
    exhausted = await call(client.reserve, hold("spark-claude/b"))
    assert (await call(client.reserve, hold("spark-claude/c", 0.1))).is_granted
    assert not (await call(client.extend, "spark-claude/c", micro_usd(1))).is_granted
    await call(client.void, "spark-claude/c")
    await call(client.book, hold("spark-claude/d"), Use(cost=1000), turns=2, day="2026-01-01")

    assert refused.shortage is not None
    assert (refused.shortage.scope, refused.shortage.name) == ("agent", "spark-claude")
    assert [each.what for each in news] == [Told.WARNED]
    assert [each.what for each in exhausted.news] == [Told.EXHAUSTED]
    assert (await call(client.budgets, "spark-claude")) == service.ledger.budgets("spark-claude")
    assert (await call(client.spent_today, "spark-claude")) == (1, 10, 2, 3, 1.75)
    assert (await call(client.spent_in_total, "spark-claude")).turns == 3
    assert (await call(client.report, "model")) == service.ledger.report("model")
    quota = Quota("claude:ori", "five_hour", int(time.time() * 1000) + 60_000)
    assert await call(client.open_quota, quota, "spark-claude")
    assert (await call(client.check, "spark-claude", "claude:ori", 0)).quota == quota
    assert await call(client.settle_foreign, "spark-claude", "p2") == 0
    client.close()


async def test_only_the_main_process_of_an_agent_may_write(service: Service, call: Call):
    """A command that the agent runs has its user, and is another process."""
    service.main_pid = 1
    client = service.client()

    with pytest.raises(NotAllowedError, match="is not the service of 'spark-claude'"):
        await call(client.reserve, hold("spark-claude/a"))
    with pytest.raises(NotAllowedError, match="does not run the agent 'spark-other'"):
        await call(service.client("spark-other").reserve, hold("spark-other/a"))
    reader = service.client("")
    with pytest.raises(NotAllowedError, match="only the service of an agent"):
        await call(reader.raise_budget, "q", Limit("agent", "spark-claude", 1), "me")
    assert await call(reader.report, "agent") == []
    with pytest.raises(UsageError, match="is not one of agent, task, day, host, model"):
        await call(reader.report, "1 FROM raises --")
    reader.close()


async def test_an_agent_writes_its_own_entries_and_no_others(service: Service, call: Call):
    claude, second = service.client(), service.client("spark-second")
    await call(claude.reserve, hold("spark-claude/a"))

    with pytest.raises(NotAllowedError, match="is not an entry of 'spark-second'"):
        await call(second.settle, "spark-claude/a", Use(cost=0))
    with pytest.raises(NotAllowedError, match="is not an entry of 'spark-second'"):
        await call(second.reserve, hold("spark-claude/b"))
    # Whatever it claims, an entry is its own.
    await call(second.book, hold("spark-second/a"), Use(cost=5))
    assert {row.name: row.cost for row in service.ledger.report("agent")} == {
        "spark-claude": 0, "spark-second": 5
    }  # fmt: skip
    # Nor does it read what others do.
    assert [row.name for row in await call(second.report, "agent")] == ["spark-second"]
    for client in (claude, second):
        client.close()


async def test_a_budget_is_raised_by_the_configured_amount_at_most(service: Service, call: Call):
    client = service.client()

    with pytest.raises(NotAllowedError, match="at most 'raise_usd'"):
        await call(client.raise_budget, "q", Limit("agent", "spark-claude", micro_usd(6)), "ori")
    with pytest.raises(NotAllowedError, match="has no part in the budget of 'spark-second'"):
        await call(client.raise_budget, "q", Limit("agent", "spark-second", micro_usd(5)), "ori")
    await call(client.raise_budget, "q", Limit("agent", "spark-claude", micro_usd(5)), "ori")
    assert (await call(client.budgets, "spark-claude"))[0].limit == micro_usd(7)
    client.close()


@pytest.mark.parametrize(
    "wrong",
    [Use(input_tokens=-1), Use(cost=-5), Use(cost=0.5), Use(cost="x")],
    ids=repr,  # type: ignore[arg-type]
)
async def test_wrong_figures_are_refused(service: Service, call: Call, wrong: Use):
    client = service.client()
    with pytest.raises((UnavailableError, UsageError)):
        await call(client.book, hold("spark-claude/a"), wrong)
    assert service.ledger.report("agent") == []
    client.close()


async def test_a_client_survives_a_restart_of_the_service(service: Service, call: Call):
    client = service.client()
    await call(client.reserve, hold("spark-claude/a"))
    await service.stop()

    with pytest.raises(UnavailableError, match="no ledger at") as caught:
        await call(client.settle, "spark-claude/a", Use(cost=5))
    await service.start()
    await call(client.settle, "spark-claude/a", Use(cost=5))

    assert caught.value.hint == "systemctl status culture-ledger.socket culture-ledger.service"
    assert service.ledger.spent_today("spark-claude").cost_usd == 0.000005
    client.close()


async def test_the_program_asks_systemd_who_an_agent_is_and_reads_new_budgets(
    home: Path, call: Call, eventually
):
    """Only systemctl is replaced here: it names this process as the main one."""
    programs = home / "bin"
    programs.mkdir()
    (programs / "systemctl").write_text(f"#!/bin/sh\nexec /bin/echo {os.getpid()}\n")
    (programs / "systemctl").chmod(0o755)
    config = home / "agents.yaml"
    agents = f"agents: [{{nick: spark-claude, user: {ME}}}]\n"
    config.write_text(agents)
    socket = home / "ledger.sock"
    env = {"PATH": f"{programs}:{os.environ['PATH']}", "CULTURE_LEDGER": str(socket)}
    program = Program("culture.daemons.ledger", "--config", str(config), home=home, env=env)
    try:
        await program.says("listening on")
        client = LedgerClient(socket, "spark-claude", timeout_s=20)
        assert (await call(client.reserve, hold("spark-claude/a", 5))).is_granted
        config.write_text(f"budgets: {{agent_usd_per_day: 1}}\n{agents}")
        assert not (await call(client.reserve, hold("spark-claude/b", 5))).is_granted
        config.write_text("budgets: {agent_usd_per_day: much}\n")
        assert not (await call(client.reserve, hold("spark-claude/b", 5))).is_granted
        await program.says("keeping the old budgets")
        client.close()
    finally:
        program.stop()
