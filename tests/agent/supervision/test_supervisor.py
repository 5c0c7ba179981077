"""When a supervisor has its agent judged, what the judge reads, and what comes of the verdict."""

import asyncio
from collections.abc import Callable, Sequence

import pytest
from support.activity import TASK, call, text
from support.judge import ScriptedJudge

from culture.agent.contract import Message, Result, Usage, WatchedTask
from culture.agent.reporting.journal_events import JournalEvents
from culture.agent.supervision.supervisor import Supervisor
from culture.config.agent.supervisor import HeartbeatConfig, SupervisorConfig
from culture.errors import UnavailableError

OTHER = WatchedTask("t2", "say hello", "spark-bo in private")


class Watched:
    """An agent whose steps the test makes, with its supervisor."""

    def __init__(self, judge: ScriptedJudge | None, **config: int) -> None:
        self.task: WatchedTask | None = TASK
        self.whispers: list[str] = []
        self.escalations: list[str] = []
        self.supervisor = Supervisor(
            SupervisorConfig(**config),
            HeartbeatConfig(),
            judge,
            JournalEvents("spark-claude", "claude"),
            clock=lambda: 0.0,
        )
        self.supervisor.on_whisper = self._whispered
        self.supervisor.on_escalation = self._escalated
        self.supervisor.current_task = lambda: self.task

    async def _whispered(self, text: str, kind: str) -> None:
        self.whispers.append(f"{kind} {text}")

    async def _escalated(self, text: str) -> None:
        self.escalations.append(text)

    async def does(self, messages: Sequence[Message]) -> None:
        """Report messages of the backend, and let an evaluation end after each."""
        for message in messages:
            await self.supervisor.observe(message)
            if evaluations := asyncio.all_tasks() - {asyncio.current_task()}:
                await asyncio.wait(evaluations)

    async def works(self, steps: int, make: Callable[[int], list[Message]] | None = None) -> None:
        for number in range(steps):
            await self.does(make(number) if make else call(f"step {number}", f"result {number}"))


def fails_again(number: int) -> list[Message]:
    return call("cmake ..", f"CMake Error at line {number}", failed=True)


async def test_every_fifth_step_is_judged():
    judge = ScriptedJudge()
    agent = Watched(judge)

    await agent.works(4)
    assert judge.prompts == []
    await agent.works(1)
    assert len(judge.prompts) == 1
    await agent.works(10)
    assert len(judge.prompts) == 3
    assert (agent.whispers, agent.escalations) == ([], [])


async def test_the_judge_reads_the_task_the_calls_and_the_results():
    judge = ScriptedJudge()
    agent = Watched(judge)

    await agent.works(3)
    await agent.does(call("cmake ..", "CMake Error: no compiler", failed=True))
    agent.task = OTHER
    await agent.does([*text("Hello."), *call("ls", "")])

    assert judge.prompts == [
        "Task from spark-ori in #general: benchmark nemotron\n"
        '  1. Bash {"command":"step 0"} returned: result 0\n'
        '  2. Bash {"command":"step 1"} returned: result 1\n'
        '  3. Bash {"command":"step 2"} returned: result 2\n'
        '  4. Bash {"command":"cmake .."} failed: CMake Error: no compiler\n'
        "Task from spark-bo in private: say hello\n"
        '  5. Bash {"command":"ls"} returned: nothing\n'
        "Your answer:"
    ]


async def test_a_loop_is_judged_early_and_the_judge_is_told_why():
    judge = ScriptedJudge()
    agent = Watched(judge)

    await agent.works(3, fails_again)

    assert len(judge.prompts) == 1
    assert "Noticed: the same error came three times." in judge.prompts[0]


async def test_a_persistent_problem_ends_in_an_escalation_within_three_evaluations():
    judge = ScriptedJudge(lambda prompt: "CORRECTION Try other flags.")
    agent = Watched(judge)

    await agent.works(9, fails_again)

    assert len(judge.prompts) == 3
    assert agent.whispers[0] == "CORRECTION Try other flags."
    assert agent.whispers[1].startswith("CORRECTION This is still so after the last remark.")
    assert agent.escalations == ["Try other flags."]
    assert "You told the agent before: Try other flags." in judge.prompts[1]


async def test_after_an_escalation_nothing_is_judged_until_the_next_turn():
    judge = ScriptedJudge(lambda prompt: "CORRECTION Try other flags.")
    agent = Watched(judge, escalation_threshold=1)
    await agent.works(3, fails_again)
    assert agent.escalations == ["Try other flags."]

    await agent.works(20, fails_again)
    agent.task = None
    await agent.does([Result("interrupted")])
    assert len(judge.prompts) == 1

    # A person has resumed the agent, and what was before no longer counts.
    agent.task = OTHER
    await agent.works(5)
    assert len(judge.prompts) == 2
    assert "cmake" not in judge.prompts[1]


async def test_a_turn_that_ended_meanwhile_is_not_paused():
    judge = ScriptedJudge()
    agent = Watched(judge, escalation_threshold=1)

    def decide(prompt: str) -> str:
        agent.task = None
        return "ESCALATION Stuck."

    judge.decide = decide
    await agent.works(5)

    assert agent.escalations == []
    assert agent.whispers == ["ESCALATION Stuck."]


async def test_the_end_of_a_turn_starts_no_evaluation():
    judge = ScriptedJudge()
    agent = Watched(judge)

    await agent.works(4)
    await agent.does([*text("Done."), Result()])

    assert judge.prompts == []


@pytest.mark.parametrize("answer", ["", "all is fine", "correction: stop"])
async def test_an_answer_that_is_no_verdict_counts_as_ok_and_is_logged(
    answer: str, caplog: pytest.LogCaptureFixture
):
    agent = Watched(ScriptedJudge(lambda prompt: answer))

    await agent.works(5)

    assert (agent.whispers, agent.escalations) == ([], [])
    assert "its answer is not a verdict and counts as OK" in caplog.text


async def test_a_judge_that_cannot_be_asked_changes_nothing(caplog: pytest.LogCaptureFixture):
    judge = ScriptedJudge()
    judge.error = UnavailableError("no login")
    agent = Watched(judge)

    await agent.works(10)

    assert len(judge.prompts) == 2
    assert (agent.whispers, agent.escalations) == ([], [])
    assert "the supervisor's judge failed: no login; the agent works on" in caplog.text


async def test_a_supervisor_waits_when_it_has_used_its_share():
    judge = ScriptedJudge()
    agent = Watched(judge)

    # Small results in a turn that reports nothing: the agent seems to spend very little.
    await agent.works(1000)
    first = len(judge.prompts)
    assert 3 <= first < 200

    await agent.does([Result(usage=Usage(10_000_000))])
    await agent.works(100)
    assert len(judge.prompts) == first + 20


@pytest.mark.parametrize(
    "make",
    [
        lambda n: call(f"step {n}", f"result {n}"),
        # Polling.
        lambda n: call("curl -s http://ci/job/7", f"{n / 2:.1f} % done"),
        # Editing and testing, with a failure now and then.
        lambda n: call(("vi a.py", "pytest")[n % 2], f"{n} tests", failed=n % 7 == 0),
        lambda n: [*text(f"Now part {n}."), *call(f"cat part{n}", "x" * 5000)],
    ],
    ids=["steps", "polling", "testing", "reading"],
)
async def test_two_hundred_good_steps_cause_no_early_evaluation_and_no_intervention(
    make: Callable[[int], list[Message]],
):
    judge = ScriptedJudge()
    agent = Watched(judge)

    await agent.works(200, make)

    assert len(judge.prompts) <= 40
    assert not any("Noticed:" in prompt for prompt in judge.prompts)
    assert (agent.whispers, agent.escalations) == ([], [])
