"""How a backend starts, stops, dies, and leaves nothing behind."""

import asyncio
import os
import signal

import pytest
from support.watched import ENDLESS, OK, STALLED, Watched, ends, processes, program_of, runs

pytestmark = pytest.mark.timeout(120)


async def test_it_starts_stops_and_starts_again(agent, model, mark, eventually):
    model.play(OK)
    assert agent.runner.is_running()
    assert processes(mark)

    await agent.runner.stop()
    await agent.runner.stop()

    assert agent.exits == [0]
    assert not agent.runner.is_running()
    assert agent.runner.session_id is None
    assert processes(mark) == {}

    await agent.runner.start("hello again")

    [result] = await ends(agent, eventually)
    assert not result.failed
    assert agent.runner.is_running()
    assert agent.runner.session_id


async def test_stopping_in_a_turn_ends_the_tool_too(agent, model, mark, eventually):
    model.play(ENDLESS)
    await agent.runner.send_prompt("go")
    await runs(mark, "tail -f /dev/null", eventually)

    await agent.runner.stop()

    assert agent.exits == [0]
    assert processes(mark) == {}


async def test_a_killed_program_is_a_failed_turn_and_nothing_is_left_of_it(agent, model, mark, eventually):
    model.play(ENDLESS)
    await agent.runner.send_prompt("one")
    await agent.runner.send_prompt("two")
    await agent.runner.compact()
    await runs(mark, "tail -f /dev/null", eventually)

    os.kill(program_of(mark), signal.SIGKILL)

    [code] = await eventually(lambda: agent.exits, within_s=30)
    assert code != 0
    assert [result.failed for result in agent.results()] == [True, True]
    assert all(result.error and result.asked for result in agent.results())
    assert [context.failed for context in agent.contexts()] == [True]
    assert not agent.runner.is_running()
    assert agent.runner.session_id is None
    assert processes(mark) == {}

    model.play(OK)
    await agent.runner.start("three")
    assert not (await ends(agent, eventually, 3))[2].failed


async def test_a_program_that_is_killed_while_it_has_nothing_to_do_is_missed_at_once(agent, mark, eventually):
    os.kill(program_of(mark), signal.SIGKILL)

    [code] = await eventually(lambda: agent.exits)
    assert code != 0
    assert agent.messages == []
    assert processes(mark) == {}


async def test_a_program_that_no_longer_answers_is_stopped_by_force(agent, model, mark, eventually):
    model.play(STALLED)
    await agent.runner.send_prompt("go")
    await eventually(model.prompts, within_s=30)
    os.kill(program_of(mark), signal.SIGSTOP)

    await asyncio.wait_for(agent.runner.stop(), 30)

    assert agent.exits == [0]
    assert processes(mark) == {}


async def test_nobody_listens_and_nothing_breaks(row, spec, model, eventually):
    """The callbacks may be None."""
    model.play(OK)
    agent = Watched(row, spec)
    agent.runner.on_message = agent.runner.on_exit = None
    await agent.runner.start("hello")
    await eventually(model.prompts, within_s=30)

    await asyncio.wait_for(agent.runner.stop(), 30)
