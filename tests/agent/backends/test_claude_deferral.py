"""Tool calls of Claude Code that wait for an answer, across the end of the program, with the real program."""

import os
import signal
from collections.abc import Awaitable, Callable

import pytest
from support.backends import ROWS
from support.watched import OK, Watched, ends, program_of, runs, told

from culture.agent.backends.claude.defer_hook import UNKNOWN_OUTCOME
from culture.agent.contract import DeferCall, PermissionRequest
from culture.errors import UnavailableError

pytestmark = pytest.mark.timeout(120)

# What the program says to the model when a deferred call has its answer.
CONTINUED = "prompt: '^Continue from where you left off'"
TOUCH = f"""
rules:
  - {{{CONTINUED}, answer: [{{text: done}}]}}
  - {{answer: [{{run: [sh, -c, 'echo once >> touched']}}]}}
"""

StartAsking = Callable[..., Awaitable[Watched]]


class Asked:
    """A judge that has no answer to commands that change something."""

    def __init__(self) -> None:
        self.requests: list[PermissionRequest] = []

    async def __call__(self, request: PermissionRequest) -> tuple[bool, str]:
        self.requests.append(request)
        if request.can_defer:
            raise DeferCall
        return False, "nobody can be asked"


@pytest.fixture
def row():
    return ROWS["claude"]


@pytest.fixture
def asked() -> Asked:
    return Asked()


@pytest.fixture
def start_asking(start, asked, home) -> StartAsking:
    """Start an agent whose judge defers every call, as with `permission_mode: ask`."""

    async def another(prompt: str = "", **changes) -> Watched:
        watched: Watched = await start(
            prompt, judge=asked, is_locked=False, deferrals=home / "deferrals", **changes
        )
        return watched

    return another


async def deferred(agent: Watched, eventually) -> str:
    """Wait for the first result, which names the deferred call, and return its id."""
    result = (await ends(agent, eventually))[0]
    assert result.deferred is not None
    return result.deferred.id


async def test_a_call_without_an_answer_ends_the_turn_and_runs_nothing(
    start_asking, model, home, asked, eventually
):
    model.play(TOUCH)
    agent = await start_asking("go")

    [result] = await ends(agent, eventually)

    assert (result.failed, result.asked) == (False, True)
    assert result.deferred.input["command"] == "sh -c 'echo once >> touched'"
    assert [(request.id, request.can_defer) for request in asked.requests] == [(result.deferred.id, True)]
    assert not (home / "work" / "touched").exists()


@pytest.mark.parametrize("allowed", [True, False])
async def test_the_answer_continues_the_turn(start_asking, model, home, eventually, allowed):
    model.play(TOUCH)
    agent = await start_asking("go")
    call = await deferred(agent, eventually)

    await agent.runner.answer_deferred(call, allowed=allowed, reason="ori said so")

    result = (await ends(agent, eventually, 2))[1]
    assert (result.failed, result.asked, result.deferred) == (False, True, None)
    assert (home / "work" / "touched").exists() is allowed
    assert ("ori said so" in told(model)) is not allowed
    assert not any((home / "deferrals").iterdir())
    assert agent.exits == []

    model.play(OK)
    await agent.runner.send_prompt("and now?")
    assert not (await ends(agent, eventually, 3))[2].failed


@pytest.mark.parametrize("how", ["stopped", "killed"])
async def test_a_deferred_call_waits_through_a_restart(start_asking, model, mark, home, eventually, how):
    model.play(TOUCH)
    first = await start_asking("go")
    call = await deferred(first, eventually)
    session = first.runner.session_id
    if how == "killed":
        os.kill(program_of(mark), signal.SIGKILL)
        await eventually(lambda: first.exits)
    else:
        await first.runner.stop()

    second = await start_asking(resume=session)
    assert await deferred(second, eventually) == call
    assert not second.results()[0].asked
    assert not (home / "work" / "touched").exists()

    await second.runner.answer_deferred(call, allowed=True)

    result = (await ends(second, eventually, 2))[1]
    assert (result.failed, result.asked) == (False, True)
    assert (home / "work" / "touched").read_text() == "once\n"


async def test_a_call_that_is_cut_off_while_it_runs_is_not_run_again(
    start_asking, model, mark, home, eventually
):
    model.play(f"""
rules:
  - {{{CONTINUED}, answer: [{{text: done}}]}}
  - {{answer: [{{run: [sh, -c, 'echo once >> touched; exec tail -f /dev/null']}}]}}
""")
    first = await start_asking("go")
    call = await deferred(first, eventually)
    session = first.runner.session_id
    await first.runner.answer_deferred(call, allowed=True)
    await runs(mark, "tail -f /dev/null", eventually)
    os.kill(program_of(mark), signal.SIGKILL)
    await eventually(lambda: first.exits, within_s=30)

    second = await start_asking(resume=session)
    await ends(second, eventually)

    assert (home / "work" / "touched").read_text() == "once\n"
    assert UNKNOWN_OUTCOME in told(model)


async def test_a_prompt_drops_the_call_and_its_answer_comes_too_late(start_asking, model, home, eventually):
    model.play(TOUCH)
    agent = await start_asking("go")
    call = await deferred(agent, eventually)
    model.play(OK)

    await agent.runner.send_prompt("never mind")

    assert not (await ends(agent, eventually, 2))[1].failed
    with pytest.raises(UnavailableError, match="is not deferred"):
        await agent.runner.answer_deferred(call, allowed=True)
    assert not (home / "work" / "touched").exists()


async def test_a_call_that_nobody_knows_cannot_be_answered(start_asking, agent):
    asking = await start_asking()
    for each in (asking, agent):
        with pytest.raises(UnavailableError, match="is not deferred"):
            await each.runner.answer_deferred("toolu_1", allowed=True)


async def test_an_answer_counts_for_its_own_call_only(start_asking, model, home, asked, eventually):
    model.play(f"""
rules:
  - {{{CONTINUED}, answer: [{{run: [touch, second]}}]}}
  - {{answer: [{{run: [touch, first]}}]}}
""")
    agent = await start_asking("go")
    call = await deferred(agent, eventually)

    await agent.runner.answer_deferred(call, allowed=True)

    result = (await ends(agent, eventually, 2))[1]
    assert result.deferred.input["command"] == "touch second"
    assert (home / "work" / "first").exists()
    assert not (home / "work" / "second").exists()
    assert [request.command for request in asked.requests] == ["touch first", "touch second"]


QUESTION = f"""
rules:
  - {{{CONTINUED}, answer: [{{text: done}}]}}
  - answer:
      - tool:
          name: AskUserQuestion
          input:
            questions:
              - question: Which colour?
                header: Colour
                multiSelect: false
                options: [{{label: Blue, description: b}}, {{label: Red, description: r}}]
"""


async def test_the_models_own_question_gets_the_answer_of_a_person(start_asking, model, asked, eventually):
    model.play(QUESTION)
    agent = await start_asking("go")
    call = await deferred(agent, eventually)
    assert asked.requests[0].tool == "AskUserQuestion"

    await agent.runner.answer_deferred(call, allowed=True, reason="Green, like the grass")

    await ends(agent, eventually, 2)
    assert "Green, like the grass" in told(model)
