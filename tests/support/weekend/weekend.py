"""One weekend: twenty agents, two people, and everything that can go wrong."""

import asyncio
import contextlib
import logging
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from culture.agent.ledger.settings import ledger_in
from culture.config.agent.budgets import AgentBudgetsConfig, BudgetsConfig, PriceConfig
from culture.config.agent.permissions import PermissionRule, PermissionsConfig
from culture.config.agent.supervisor import SupervisorConfig
from culture.config.agent.trust import TrustConfig
from culture.config.agent.webhooks import EVENTS, WebhooksConfig
from culture.config.agents import AgentConfig, AgentsConfig, TurnsConfig
from culture.errors import CultureError, TemporaryError
from culture.store.agent.file import AgentFile
from support.weekend.agent import SimulatedAgent
from support.weekend.checks import Checks
from support.weekend.ending import check_end
from support.weekend.model import ASIDE_USD, PRICED_MODEL, TURN_USD
from support.weekend.network import Server
from support.weekend.people import HOUR_S, MINUTE_S, People
from support.weekend.virtual_time import VirtualLoop, virtual_time

AGENTS = 20
# From Friday evening to Monday morning.
HOURS = 60.0
# After that nobody misbehaves any more, and everything that can go on has to.
CLOSING_HOURS = 3.0
# What is posted to #alerts: everything but the end of each turn.
ALERTS = tuple(event for event in EVENTS if event != "agent_complete")
# How long the service manager waits before it starts a process again.
RESTART_S = 5.0


@dataclass(frozen=True)
class Outcome:
    """What happened on a weekend."""

    seed: int
    failures: list[str]
    turns: int
    kills: int
    questions: int
    longest_chain: int
    spent_usd: float
    behaviours: Counter[str]


class Weekend:
    """The world of one weekend."""

    def __init__(self, seed: int, loop: VirtualLoop, home: Path, hours: float) -> None:
        self.seed = seed
        self.loop = loop
        self._random = random.Random(f"{seed} world")
        self._hours = hours
        self.is_closing = False
        self.judged = self.kills = 0
        self.asked_aside: list[str] = []
        # By the text of a message that an agent said: how many agents called one another up to it.
        self.chains: dict[str, int] = {}
        self.behaviours: Counter[str] = Counter()
        self.config = _config(self._random)
        self.server = Server(home / "server", [agent.nick for agent in self.config.agents])
        self.server.serve(loop)
        ledger_in(home, self.config).close()
        # Creating the files of twenty agents takes long; each gets a copy of new ones.
        AgentFile(home / "new").close()
        self.checks = Checks(self, self.config, home)
        for each in self.config.agents:
            shutil.copytree(home / "new", home / each.nick)
        self.agents = {
            each.nick: SimulatedAgent(self, self.config, each, home, self.checks)
            for each in self.config.agents
        }
        self.people = People(self, self.server)
        self._tasks: set[asyncio.Task[None]] = set()
        loop.on_quiet = self._check

    def start(self) -> None:
        """Start all agents."""
        for agent in self.agents.values():
            agent.start()

    async def run(self) -> Outcome:
        """Play the weekend and return what happened."""
        self.start()
        await asyncio.sleep(5)
        self.people.plan(self._hours)
        for _ in range(self._random.randint(3, 10)):
            self.loop.call_later(self._random.uniform(0, self._hours * HOUR_S), self._begin, self._kill_one)
        for _ in range(self._random.randint(0, 3)):
            by_s = self._random.choice([-2 * HOUR_S, -MINUTE_S, 2 * HOUR_S, 26 * HOUR_S])
            self.loop.call_later(self._random.uniform(0, self._hours * HOUR_S), self.loop.jump, by_s)
        await self._pass(self._hours * HOUR_S)
        self.is_closing = True
        self.people.close()
        await self._pass(CLOSING_HOURS * HOUR_S)
        if not self.checks.failures:
            check_end(self)
        return self._outcome()

    async def _pass(self, seconds: float) -> None:
        """Let time pass until something goes wrong."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.checks.has_failed.wait()

    def _begin(self, act: Callable[..., Coroutine[Any, Any, None]], *args: object) -> None:
        task = self.loop.create_task(act(*args))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _kill_one(self) -> None:
        agent = self._random.choice(list(self.agents.values()))
        if self.is_closing or not agent.is_up:
            return
        await agent.kill()
        await asyncio.sleep(self._random.choice([1.0, 60.0, 2 * HOUR_S]))
        agent.start()

    def restart(self, agent: SimulatedAgent, error: CultureError) -> None:
        """Start an agent again whose process ended by itself."""
        if not isinstance(error, TemporaryError):
            self.checks.fail(f"{agent.nick} ended: {error}")
        self.loop.call_later(RESTART_S, self._begin, self._restart, agent)

    async def _restart(self, agent: SimulatedAgent) -> None:
        if agent.is_up:
            await agent.kill()
            agent.start()

    def _check(self) -> None:
        self.checks.check_ledger()

    def _outcome(self) -> Outcome:
        return Outcome(
            self.seed,
            self.checks.failures,
            sum(self.behaviours.values()),
            self.kills,
            len(self.people.read_questions),
            self.checks.longest_chain,
            self.checks.spent_usd(),
            self.behaviours,
        )

    async def close(self) -> None:
        """End all processes."""
        for agent in self.agents.values():
            if agent.is_up:
                await agent.kill()
        for task in list(self._tasks):
            task.cancel()
        self.checks.close()
        self.server.close()


def play_weekend(seed: int, hours: float = HOURS) -> Outcome:
    """Play the weekend of a seed."""
    random.seed(seed)
    errors: list[str] = []
    with virtual_time() as loop, _directory() as home:
        loop.set_exception_handler(lambda _, context: errors.append(_describe(context)))
        outcome = loop.run_until_complete(_play(seed, loop, home, hours))
    outcome.failures.extend(errors)
    return outcome


def idle_model_calls(hours: float = 1.0) -> int:
    """Return how often agents and supervisors call a model while nobody says anything."""
    with virtual_time() as loop, _directory() as home:
        return loop.run_until_complete(_idle(loop, home, hours))


async def _idle(loop: VirtualLoop, home: Path, hours: float) -> int:
    world = Weekend(0, loop, home, hours)
    world.start()
    try:
        await asyncio.sleep(hours * HOUR_S)
        assert all(agent.daemon.operations.whoami()["connected"] for agent in world.agents.values())
        return sum(world.behaviours.values()) + world.judged + len(world.asked_aside)
    finally:
        await world.close()


async def _play(seed: int, loop: VirtualLoop, home: Path, hours: float) -> Outcome:
    world = Weekend(seed, loop, home, hours)
    try:
        return await world.run()
    finally:
        await world.close()


def _describe(context: dict[str, Any]) -> str:
    error = context.get("exception")
    return f"{context['message']}: {error!r}" if error else str(context["message"])


@contextlib.contextmanager
def _directory() -> Iterator[Path]:
    memory = Path("/dev/shm")
    path = Path(tempfile.mkdtemp(prefix="weekend-", dir=memory if memory.is_dir() else None))
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield path
    finally:
        logging.disable(level)
        shutil.rmtree(path)


def _config(chance: random.Random) -> AgentsConfig:
    return AgentsConfig(
        turns=TurnsConfig(stall_timeout_s=60.0, restart_delay_s=5.0),
        webhooks=WebhooksConfig(irc_channel="#alerts", events=ALERTS),
        trust=TrustConfig(
            agents=chance.choice(["vote", "first", "consensus", "never"]),
            timeout=chance.choice(["5m", "30m"]),
            timeout_action=chance.choice(["pause", "deny", "abort"]),
        ),
        supervisor=SupervisorConfig(),
        budgets=BudgetsConfig(
            host_usd_per_day=chance.choice([20.0, 60.0]),
            agent_usd_per_day=6.0,
            turn_usd=TURN_USD,
            aside_usd=ASIDE_USD,
        ),
        prices={PRICED_MODEL: PriceConfig(1.0, 1.0)},
        agents=tuple(_agent(number) for number in range(AGENTS)),
    )


def _agent(number: int) -> AgentConfig:
    # One agent has no money at all, some have less than the others, and some report tokens only.
    budgets = {3: 0.0, 4: 2.0, 5: 1.0}
    return AgentConfig(
        nick=f"spark-a{number:02}",
        channels=("#general" if number < AGENTS // 2 else "#ops",),
        model=PRICED_MODEL if number % 4 == 1 else "",
        permission_mode="ask" if number % 3 == 0 else "bypass",
        permissions=PermissionsConfig(ask=(PermissionRule(command="git push*"),)),
        receipts="react" if number % 5 == 0 else "off",
        budgets=AgentBudgetsConfig(usd_per_day=budgets.get(number)),
    )
