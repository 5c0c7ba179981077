"""The double of the weekend: a backend whose model works, waits, asks, spends, loops and crashes by chance.

No step of this model costs more than its first one, and the first one costs no more than a turn reserves.
That is what a budget can promise: nobody knows the price of a step before it was made.
"""

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, NamedTuple

from culture.agent.contract import (
    AgentRunnerBase,
    Assistant,
    ContextChanged,
    Effort,
    Message,
    PermissionRequest,
    RateLimit,
    Result,
    SideAnswer,
    Text,
    ToollessModel,
    ToolResult,
    ToolUse,
    Usage,
    UsageReport,
)
from culture.errors import CultureError, TemporaryError

if TYPE_CHECKING:
    from support.weekend.agent import SimulatedAgent

TURN_USD = 1.0
ASIDE_USD = 0.25
STEP_TOKENS = Usage(20_000, 15_000, 500)
# The model of agents whose backend reports tokens and no costs.
PRICED_MODEL = "priced"
RETRY_ERROR = "no CUDA compiler"
WORDS = [
    "amber",
    "birch",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "heath",
    "inlet",
    "jetty",
    "knoll",
    "larch",
    "marsh",
    "north",
    "ochre",
    "pines",
]

_PROMPT = re.compile(
    r"\[IRC (?:DM|(?P<answer>answer) to question \S+|(?:@mention|reply) in (?P<channel>#\S+))\] "
    r"<(?P<sender>\S+)> (?P<text>.*)"
)


class Interrupted(Exception):
    """Raised in a turn that the daemon interrupts."""


class Asked(NamedTuple):
    """What a prompt asks for."""

    sender: str
    # Where the agent answers.
    place: str
    text: str
    # How many agents called one another, one after the other, since a person asked for something.
    chain: int


class WeekendModel(AgentRunnerBase):
    """One session of the backend of an agent."""

    def __init__(self, agent: "SimulatedAgent", resume: str) -> None:
        self._agent = agent
        self._random = agent.random
        self._resume = resume
        self._is_up = False
        self._turn: asyncio.Task[None] | None = None
        self._interrupted = asyncio.Event()
        # Of the running turn.
        self._spent_usd = 0.0
        self._first_usd = 0.0
        self._tokens = Usage()
        self._steps = 0
        self._chain = 0

    async def start(self, initial_prompt: str = "") -> None:
        if self._random.random() < 0.02 and not self._agent.world.is_closing:
            raise TemporaryError("the backend does not start")
        self._is_up = True

    async def stop(self) -> None:
        if self._is_up:
            self._is_up = False
            if self._turn is not None:
                self._turn.cancel()
                await asyncio.gather(self._turn, return_exceptions=True)
            assert self.on_exit is not None
            await self.on_exit(0)

    async def send_prompt(self, text: str, *, effort: Effort | None = None) -> None:
        self._agent.checks.prompted(self._agent, text)
        self._interrupted.clear()
        self._turn = asyncio.get_running_loop().create_task(self._run_turn(text))

    async def interrupt(self) -> None:
        self._interrupted.set()

    async def compact(self) -> None:
        await self._tell(ContextChanged("compacted"))

    async def clear(self) -> None:
        await self._tell(ContextChanged("cleared"))

    async def ask_aside(self, prompt: str, *, background: str = "") -> SideAnswer:
        await asyncio.sleep(self._random.uniform(1, 20))
        self._agent.world.asked_aside.append(prompt)
        return SideAnswer("It is about the build.", STEP_TOKENS, self._random.uniform(0, ASIDE_USD))

    def is_running(self) -> bool:
        return self._is_up

    @property
    def session_id(self) -> str | None:
        return (self._resume or "weekend") if self._is_up else None

    # A turn

    async def _run_turn(self, prompt: str) -> None:
        self._spent_usd = self._steps = 0
        self._tokens = Usage()
        self._first_usd = self._random.uniform(0.01, 0.5) * TURN_USD
        asked = self._parse(prompt)
        behaviour = self._choose(asked, is_repeat="[IRC again]" in prompt)
        self._agent.world.behaviours[behaviour] += 1
        self._agent.checks.chained(self._agent, asked.chain)
        self._chain = asked.chain
        try:
            result = await BEHAVIOURS[behaviour](self, asked)
        except Interrupted:
            result = Result("interrupted")
        if result.cost_usd is None and behaviour != "unpriced":
            is_priced = self._agent.config.model == PRICED_MODEL
            cost = None if is_priced else self._spent_usd
            result = Result(result.error, result.status, cost, 1000, self._tokens)
        await self._tell(result)

    def _parse(self, prompt: str) -> Asked:
        found = [match for line in prompt.splitlines() if (match := _PROMPT.fullmatch(line))]
        if not found:
            return Asked("", self._agent.config.channels[0], prompt, 0)
        chains = self._agent.world.chains
        is_by_agents = all(match["sender"] in self._agent.world.agents for match in found)
        chain = max(chains.get(match["text"], 0) for match in found) if is_by_agents else 0
        last = found[-1]
        place = last["channel"] or (self._agent.config.channels[0] if last["answer"] else last["sender"])
        return Asked(last["sender"], place, last["text"], chain)

    def _choose(self, asked: Asked, *, is_repeat: bool) -> str:
        world = self._agent.world
        if world.is_closing:
            return "work"
        wanted = re.search(r"please (\w+)", asked.text)
        if wanted and wanted[1] in BEHAVIOURS:
            # A repeated turn finds the quota renewed.
            return "work" if wanted[1] == "exhaust_quota" and is_repeat else wanted[1]
        if asked.sender in world.agents:
            return self._random.choices(["call_back", "call_another", "work", "silent"], [6, 2, 1, 1])[0]
        return self._random.choice(["work", "final_text"])

    async def _tell(self, message: Message) -> None:
        assert self.on_message is not None
        await self.on_message(message)

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._interrupted.wait()
        if self._interrupted.is_set():
            raise Interrupted

    async def _or_interrupted(self, call: Coroutine[Any, Any, Any]) -> Any:
        """Return what a call returns; cancel it if the turn is interrupted meanwhile."""
        loop = asyncio.get_running_loop()
        waiting = [loop.create_task(call), loop.create_task(self._interrupted.wait())]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if self._interrupted.is_set():
                raise Interrupted
            return await waiting[0]
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    async def _step(self, command: str, result: str, *, failed: bool = False, reports: bool = True) -> None:
        """Make one tool call, which takes time and money."""
        self._agent.checks.stepped(self._agent)
        self._steps += 1
        step_usd = self._first_usd if self._steps == 1 else self._random.uniform(0, self._first_usd)
        await self._tell(
            Assistant(self._agent.config.model, (ToolUse(str(self._steps), "Bash", {"command": command}),))
        )
        await self._pause(self._random.uniform(0.5, 8))
        await self._tell(ToolResult(str(self._steps), result, failed))
        self._spend(step_usd)
        if reports:
            is_priced = self._agent.config.model == PRICED_MODEL
            await self._tell(UsageReport(self._tokens, None if is_priced else self._spent_usd))

    def _spend(self, usd: float) -> None:
        """Spend money; with a price per token, as many tokens as it buys at 1 USD per million."""
        self._spent_usd += usd
        if self._agent.config.model == PRICED_MODEL:
            self._tokens += Usage(round(usd * 1_000_000), 0, 0)
        else:
            self._tokens += STEP_TOKENS

    async def _say(self, place: str, text: str) -> None:
        self._agent.world.chains[text] = self._chain + 1
        if not place.startswith("#"):
            self._agent.checks.agent_spoke(self._agent.nick, place, text)
        with contextlib.suppress(CultureError):
            request = {"type": "irc_send", "channel": place, "message": text}
            await self._or_interrupted(self._agent.daemon.handle(request))

    def _phrase(self) -> str:
        return " ".join(self._random.sample(WORDS, 4)) + f" {self._random.randrange(1000)}"

    def _others(self, channel: str) -> list[str]:
        """Return the other agents of a channel, or of the whole network."""
        return [
            agent.nick
            for agent in self._agent.world.agents.values()
            if agent is not self._agent and (not channel or channel in agent.config.channels)
        ]

    def _other(self, channel: str) -> str:
        return self._random.choice(self._others(channel))

    # What it does

    async def work(self, asked: Asked) -> Result:
        """Work in a few steps and answer."""
        for number in range(self._random.randint(1, 4)):
            await self._step(f"make {number}", self._phrase())
        await self._say(asked.place, f"done: {self._phrase()}")
        return Result()

    async def silent(self, asked: Asked) -> Result:
        """Work without a word."""
        await self._step("true", "")
        return Result()

    async def final_text(self, asked: Asked) -> Result:
        """Answer by the final text of the turn."""
        await self._step("ls", self._phrase())
        await self._tell(Assistant(self._agent.config.model, (Text(self._phrase()),)))
        return Result()

    async def poll(self, asked: Asked) -> Result:
        """Repeat a call whose result changes, which is no loop."""
        for number in range(self._random.randint(8, 20)):
            await self._step("gh run view", f"{number} of 40 jobs are done")
        return Result()

    async def retry(self, asked: Asked) -> Result:
        """Repeat a call that fails until somebody interrupts it."""
        for number in range(200):
            self._agent.checks.retried(self._agent, number)
            await self._step("cmake -DGPU=1 ..", f"CMake Error: {RETRY_ERROR} ({number} s)", failed=True)
        return Result()

    async def stall(self, asked: Asked) -> Result:
        """Show no sign of life until interrupted."""
        await self._step("ls", "")
        await self._pause(30 * 86400)
        return Result()

    async def cling(self, asked: Asked) -> Result:
        """Show no sign of life, and do not end when interrupted."""
        await asyncio.Event().wait()
        return Result()

    async def spend(self, asked: Asked) -> Result:
        """Spend as much as a step may cost, again and again."""
        self._first_usd = TURN_USD
        for number in range(500):
            await self._step(f"analyse {number}", self._phrase())
        return Result()

    async def unreported(self, asked: Asked) -> Result:
        """Report what a turn cost only when it ends."""
        for number in range(2):
            await self._step(f"make {number}", self._phrase(), reports=False)
        return Result()

    async def unpriced(self, asked: Asked) -> Result:
        """Do not report at all what a turn cost."""
        await self._step("make", self._phrase(), reports=False)
        return Result()

    async def ask(self, asked: Asked) -> Result:
        """Ask people something and wait for the answer for some time."""
        question = (
            f"May I delete {self._phrase()}? [yes/no]" if self._random.random() < 0.7 else "Which branch?"
        )
        timeout_s = self._random.choice([60, 600, 1200])
        home = self._agent.config.channels[0]
        request = {"type": "irc_ask", "channel": home, "question": question, "timeout": timeout_s}
        with contextlib.suppress(CultureError):
            await self._or_interrupted(self._agent.daemon.handle(request))
        await self._say(asked.place, f"done: {self._phrase()}")
        return Result()

    async def need_permission(self, asked: Asked) -> Result:
        """Make a call for which a person has to give permission."""
        command = f"git push {self._phrase()}"
        request = PermissionRequest("Bash", command, {"command": command}, f"call{self._random.random()}")
        allowed, _ = await self._or_interrupted(self._agent.daemon.judge(request))
        await self._step(command, "ok" if allowed else "refused", failed=not allowed)
        return Result()

    async def call_back(self, asked: Asked) -> Result:
        """Answer an agent by calling it again."""
        await self._step("ls", self._phrase())
        await self._say(asked.place, f"@{asked.sender} {self._phrase()}, your turn")
        return Result()

    async def call_another(self, asked: Asked) -> Result:
        """Call another agent, in the same place or by a direct message."""
        await self._step("ls", self._phrase())
        is_public = asked.place.startswith("#") and self._random.random() < 0.7
        other = self._other(asked.place if is_public else "")
        place = asked.place if is_public else other
        await self._say(place, f"@{other} {self._phrase()}, what do you think?")
        return Result()

    async def flood(self, asked: Asked) -> Result:
        """Send many messages to one agent."""
        home = self._agent.config.channels[0]
        other = self._other(home)
        for _ in range(self._random.randint(10, 40)):
            await self._say(self._random.choice([other, home]), f"@{other} {self._phrase()}!")
            await self._pause(1)
        return Result()

    async def fan_out(self, asked: Asked) -> Result:
        """Call six agents with one message."""
        home = self._agent.config.channels[0]
        others = self._random.sample(self._others(home), 6)
        await self._say(home, " ".join(f"@{nick}" for nick in others) + f" {self._phrase()}")
        return Result()

    async def die(self, asked: Asked) -> Result:
        """End the program during the turn."""
        await self._step("make", self._phrase())
        self._is_up = False
        asyncio.get_running_loop().call_soon(self._exit)
        return Result("the program was killed by signal 9")

    def _exit(self) -> None:
        assert self.on_exit is not None
        asyncio.get_running_loop().create_task(_awaited(self.on_exit(-9)))

    async def fail(self, asked: Asked) -> Result:
        """Fail because of the model's API."""
        await self._pause(2)
        return Result("the API failed", self._random.choice([400, 429, 500, 529]))

    async def exhaust_quota(self, asked: Asked) -> Result:
        """Find out that the quota of the login is used up."""
        resets_at_s = self._agent.world.loop.wall_time() + self._random.uniform(600, 5 * 3600)
        self._agent.checks.quota_reported(self._agent, resets_at_s)
        await self._tell(RateLimit(True, "five_hour", 1.0, resets_at_s))
        return Result("the quota is used up", 429)


class WeekendJudge(ToollessModel):
    """A judge that sees the agents that repeat a failing call, and sometimes says nonsense."""

    def __init__(self, agent: "SimulatedAgent") -> None:
        self._agent = agent

    async def complete(self, system: str, prompt: str) -> SideAnswer:
        await asyncio.sleep(self._agent.random.uniform(0.5, 5))
        self._agent.world.judged += 1
        usage, cost_usd = Usage(len(prompt) // 4, 0, 20), self._agent.random.uniform(0, ASIDE_USD)
        if prompt.count(RETRY_ERROR) >= 3:
            return SideAnswer("CORRECTION: you repeat a call that fails.", usage, cost_usd)
        if self._agent.random.random() < 0.05:
            return SideAnswer("I would rather not say.", usage, cost_usd)
        return SideAnswer("OK", usage, cost_usd)


async def _awaited(call: Awaitable[None]) -> None:
    await call


BEHAVIOURS: dict[str, Callable[[WeekendModel, Asked], Awaitable[Result]]] = {
    each.__name__: each
    for each in (
        WeekendModel.work,
        WeekendModel.silent,
        WeekendModel.final_text,
        WeekendModel.poll,
        WeekendModel.retry,
        WeekendModel.stall,
        WeekendModel.cling,
        WeekendModel.spend,
        WeekendModel.unreported,
        WeekendModel.unpriced,
        WeekendModel.ask,
        WeekendModel.need_permission,
        WeekendModel.call_back,
        WeekendModel.call_another,
        WeekendModel.flood,
        WeekendModel.fan_out,
        WeekendModel.die,
        WeekendModel.fail,
        WeekendModel.exhaust_quota,
    )
}
