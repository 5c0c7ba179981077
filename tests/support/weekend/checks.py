"""What holds at every moment of a weekend."""

import asyncio
import contextlib
import re
import sqlite3
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from culture.agent.turns.turn_loop import INTERRUPT_TIMEOUT_S
from culture.config.agents import AgentsConfig
from culture.store.ledger.file import FILE
from culture.store.ledger.records import micro_usd, usd

if TYPE_CHECKING:
    from support.weekend.agent import SimulatedAgent
    from support.weekend.weekend import Weekend

# A halt reaches an agent in the same second.
HALT_S = 1.0
# The steps that an agent makes until it is paused: three evaluations, each after three equal errors, and the
# steps that it makes while its judge thinks.
MOST_RETRIES = 3 * (3 + 10) + 5
_ASKED = re.compile(r"\[IRC (?:DM|(?:@mention|reply) in (?P<channel>#\S+))\] <(?P<sender>\S+)> (?P<text>.*)")


class Heard(NamedTuple):
    """A message of an agent in a conversation."""

    # How often agents took over from each other there since a person spoke, up to the message.
    hops: int
    # How often people had spoken there.
    era: int


class BrokenPromise(AssertionError):
    """Something happened that must never happen."""


class Checks:
    """Watches prompts, steps, messages and the ledger."""

    def __init__(self, world: "Weekend", config: AgentsConfig, home: Path) -> None:
        self._world = world
        self._config = config
        self._ledger = sqlite3.connect(home / FILE)
        self._version = 0
        self._halted_at_s: float | None = None
        self._quotas: dict[str, float] = {}
        self._eras: Counter[str] = Counter()
        self._hops: dict[str, tuple[str, int]] = {}
        self._heard: dict[tuple[str, str, str], Heard] = {}
        self.failures: list[str] = []
        self.has_failed = asyncio.Event()
        self.longest_chain = 0

    def close(self) -> None:
        self._ledger.close()

    def fail(self, what: str) -> None:
        """Keep what went wrong, and end the weekend."""
        hour = (self._world.loop.time() - 1000) / 3600
        self.failures.append(f"hour {hour:.3f}: {what}")
        self.has_failed.set()

    # Money

    def check_ledger(self) -> None:
        """Compare all days with all budgets, if the ledger has changed."""
        (version,) = self._ledger.execute("PRAGMA data_version").fetchone()
        if version == self._version:
            return
        self._version = version
        raised: Counter[tuple[str, str, str]] = Counter()
        for day, scope, name, amount in self._ledger.execute("SELECT day, scope, name, amount FROM raises"):
            raised[day, scope, name] += amount
        used: Counter[tuple[str, str, str]] = Counter()
        for day, agent, host, cost in self._ledger.execute(
            "SELECT day, agent, host, sum(max(cost, held)) FROM entries WHERE state <> 'void' "
            "GROUP BY day, agent"
        ):
            used[day, "agent", agent] += cost
            used[day, "host", host] += cost
        for (day, scope, name), amount in used.items():
            limit = self._limit(scope, name) + raised[day, scope, name]
            if amount > limit:
                self.fail(f"{usd(amount):.2f} of {usd(limit):.2f} USD of {name} are used on {day}")

    def _limit(self, scope: str, name: str) -> int:
        budgets = self._config.budgets
        if scope == "host":
            return micro_usd(budgets.host_usd_per_day or 0)
        own = self._world.agents[name].config.budgets.usd_per_day
        return micro_usd((budgets.agent_usd_per_day if own is None else own) or 0)

    # Halts and quotas

    def halted(self, is_on: bool) -> None:
        """Note that a person halted all agents, or ended that."""
        self._halted_at_s = self._world.loop.time() if is_on else None

    def _halted_for_s(self) -> float:
        return 0.0 if self._halted_at_s is None else self._world.loop.time() - self._halted_at_s

    def quota_reported(self, agent: "SimulatedAgent", resets_at_s: float) -> None:
        """Note until when no agent of this login may begin a turn."""
        self._quotas[agent.login] = max(resets_at_s, self._quotas.get(agent.login, 0.0))

    # What agents do

    def prompted(self, agent: "SimulatedAgent", prompt: str) -> None:
        """Check that a turn may begin."""
        if self._halted_for_s() > HALT_S:
            self.fail(f"{agent.nick} began a turn although agents are halted")
        if self._world.loop.wall_time() < self._quotas.get(agent.login, 0.0):
            self.fail(f"{agent.nick} began a turn although the quota of {agent.login} is used up")
        if agent.config.budgets.usd_per_day == 0:
            self.fail(f"{agent.nick} began a turn without a budget")
        self._check_chain(agent, prompt)

    def _check_chain(self, agent: "SimulatedAgent", prompt: str) -> None:
        found = [match for line in prompt.splitlines() if (match := _ASKED.fullmatch(line))]
        if "[IRC answer to question" in prompt and "nobody answered within" not in prompt:
            # A person who answers the agent's question allows what waits in the conversation.
            return
        if not found or any(match["sender"] not in self._world.agents for match in found):
            return
        limit = self._config.loop_guard.hops
        for match in found:
            place = match["channel"] or _pair(agent.nick, match["sender"])
            heard = self._heard.get((place, match["sender"], match["text"]))
            if heard is not None and heard.era == self._eras[place] and heard.hops >= limit:
                self.fail(f"{agent.nick} answers an agent after {heard.hops} hops in {place}")

    def chained(self, agent: "SimulatedAgent", chain: int) -> None:
        """Note how many agents called one another, in whatever conversations, until this turn."""
        self.longest_chain = max(self.longest_chain, chain)

    def stepped(self, agent: "SimulatedAgent") -> None:
        """Check that a turn may go on."""
        if self._halted_for_s() > HALT_S + INTERRUPT_TIMEOUT_S:
            self.fail(f"{agent.nick} works although agents are halted")

    def retried(self, agent: "SimulatedAgent", number: int) -> None:
        """Check that an agent that repeats a failing call is paused soon enough."""
        if number > MOST_RETRIES and not self._is_judge_short(agent):
            self.fail(f"{agent.nick} repeats a failing call for the {number}. time")

    def _is_judge_short(self, agent: "SimulatedAgent") -> bool:
        """Return whether no judge can be asked: no money is left for it, or no quota."""
        with contextlib.suppress(Exception):
            return not agent.daemon.costs.account.check().is_granted
        return True

    def killed(self, agent: "SimulatedAgent") -> None:
        """Note that a process is gone."""
        self._world.kills += 1

    # What is said

    def person_spoke(self, target: str, called: str) -> None:
        """Begin again where a person spoke, and in the direct messages of the agent that was called."""
        for place in [target, *(place for place in self._hops if called in place.split(" "))]:
            self._eras[place] += 1
            self._hops.pop(place, None)

    def agent_spoke(self, sender: str, target: str, text: str) -> None:
        """Count the hops of a conversation, independently of the server and of the agents."""
        place = target if target.startswith("#") else _pair(sender, target)
        last, hops = self._hops.get(place, (sender, 0))
        hops += last != sender
        self._hops[place] = sender, hops
        self._heard[place, sender, text] = Heard(hops, self._eras[place])

    def spent_usd(self) -> float:
        """Return what was spent on all days."""
        (cost,) = self._ledger.execute("SELECT coalesce(sum(cost), 0) FROM entries").fetchone()
        return usd(cost)


def _pair(one: str, other: str) -> str:
    return " ".join(sorted((one, other)))
