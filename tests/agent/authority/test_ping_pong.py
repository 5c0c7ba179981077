"""Agents that answer each other for ever are stopped at the limit, on one host and on two."""

import asyncio
import contextlib
import getpass
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from agent.conftest import Agent, HandRunner
from support.irc import Plain, all_are_in, connected
from support.linked import QUICK, meshed

from culture.config.address import TcpAddress

ME = getpass.getuser()
PEOPLE = {"people": f"['unix:{ME}']"}
among_people = pytest.mark.parametrize("ircd", [PEOPLE], indirect=True, ids=["people"])
STANDING_DOWN = "standing down: agents took over from each other "


class Eager(Agent):
    """Answers whatever it is asked by calling the next agent."""

    def __init__(self, address: TcpAddress, home: Path, nick: str, calls: str) -> None:
        super().__init__(address, home, nick)
        self.calls = calls
        self.answers = 0

    def _make_runner(self, resume: str) -> HandRunner:
        self.runners.append(EagerRunner(self, resume))
        return self.runners[-1]


class EagerRunner(HandRunner):
    def __init__(self, agent: Eager, resume: str) -> None:
        super().__init__(agent.prompts, resume, None)
        self._agent = agent
        self._tasks: set[asyncio.Task[None]] = set()

    async def send_prompt(self, text: str, **options: object) -> None:
        await super().send_prompt(text)
        task = asyncio.create_task(self._answer())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self) -> None:
        agent = self._agent
        agent.answers += 1
        word = "abcdefghijklmnopqrstuvwxyz"[agent.answers] * 9
        await agent.daemon.operations.say("#general", f"@{agent.calls} {word} {agent.answers}, your turn")
        await self.ends_turn()


@contextlib.asynccontextmanager
async def working(eventually, agents: Sequence[Eager]) -> AsyncIterator[None]:
    async with contextlib.AsyncExitStack() as stack:
        for agent in agents:
            await stack.enter_async_context(agent.running())
            await eventually(agent.is_present, 30)
        yield


def calls(agents: Sequence[Eager]) -> int:
    return sum(agent.answers for agent in agents)


async def plays(ori: Plain, agents: Sequence[Eager], eventually, *, hosts: int = 1) -> None:
    """They stop at the limit and say so; a person lets them go on, and they stop again.

    Each host counts for itself, so that on two hosts the limit may be passed by one. Each agent tells at most
    once until a person speaks.
    """
    for times in (1, 2):
        ori.send(f"PRIVMSG #general :@{agents[0].daemon._client.nick} go on, for the {times}. time")
        await ori.until(STANDING_DOWN)
        await eventually(lambda: any("queued" in agent.states() for agent in agents), 30)
        ori.send("PING done")
        await ori.until("PONG")
        # The count is 0 for the first that speaks. When the person speaks again, the message that waited
        # is answered together with what the person said, or on its own.
        assert 7 * times <= calls(agents) <= (7 + hosts) * times
    told = [line for line in ori.seen if STANDING_DOWN in line]
    assert 2 <= len(told) <= 2 * len(agents)


@among_people
@pytest.mark.parametrize("number", [2, 3])
async def test_agents_of_one_host_stop_at_the_limit(ircd, ori, home, eventually, number: int):
    nicks = ["spark-ann", "spark-bob", "spark-cyd"][:number]
    agents = [Eager(ircd, home, nick, nicks[(at + 1) % number]) for at, nick in enumerate(nicks)]
    async with working(eventually, agents):
        await plays(ori, agents, eventually)


@pytest.mark.timeout(240)
@pytest.mark.parametrize("nicks", [("spark-ann", "thor-bob"), ("spark-ann", "thor-bob", "thor-cyd")])
async def test_agents_of_two_hosts_stop_at_the_limit(home, eventually, nicks: tuple[str, ...]):
    config = f"{QUICK}people: ['unix:{ME}']\n"
    async with meshed(home, "spark-thor", config=config) as mesh:
        agents = []
        for at, nick in enumerate(nicks):
            address = TcpAddress("127.0.0.1", mesh.port(nick.partition("-")[0]))
            agents.append(Eager(address, home, nick, nicks[(at + 1) % len(nicks)]))
        async with working(eventually, agents), connected(mesh.port("spark"), "spark-ori", "#general") as ori:
            await all_are_in(ori, *nicks)
            await plays(ori, agents, eventually, hosts=2)
