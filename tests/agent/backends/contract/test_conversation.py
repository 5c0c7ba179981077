"""What a backend remembers, sums up, forgets, and goes on with."""

import os
import signal

import pytest
from support.watched import OK, ends, program_of, told

from culture.agent.contract import ContextChanged, RateLimit, UsageReport

pytestmark = pytest.mark.timeout(120)


async def test_what_was_said_is_remembered(agent, model, eventually):
    model.play(OK)
    await agent.runner.send_prompt("the colour is vermilion")
    await agent.runner.send_prompt("which colour?")
    await ends(agent, eventually, 2)

    assert "vermilion" in told(model)


@pytest.mark.needs("compact")
async def test_compacting_is_done_in_order_and_told_once(agent, model, eventually):
    model.play("rules: [{times: 2, answer: [{text: ok}]}, {answer: [{text: a short summary}]}]")
    await agent.runner.send_prompt("the colour is vermilion")
    await agent.runner.send_prompt("the colour is still vermilion")
    await agent.runner.compact()
    await agent.runner.send_prompt("which colour?")

    await ends(agent, eventually, 3)

    assert [kind(message) for message in agent.messages if not isinstance(message, FIGURES)] == [
        "Assistant", "Result", "Assistant", "Result", "compacted", "Assistant", "Result",
    ]  # fmt: skip
    assert agent.contexts() == [ContextChanged("compacted")]
    assert "a short summary" in told(model)


@pytest.mark.needs("compact")
async def test_also_nothing_is_compacted_and_cleared_once(agent, model, eventually):
    model.play(OK)
    await agent.runner.compact()
    await agent.runner.clear()
    await agent.runner.compact()
    await agent.runner.send_prompt("hello")

    [result] = await ends(agent, eventually)

    assert not result.failed
    # Whether there is something to do for a backend that has just begun, is its own business.
    assert [context.did for context in agent.contexts()] == ["compacted", "cleared", "compacted"]


@pytest.mark.needs("compact", "verdict")
async def test_compacting_that_the_model_fails_at_is_told(agent, model, eventually):
    model.play(OK)
    await agent.runner.send_prompt("the colour is vermilion")
    await ends(agent, eventually)
    model.play("rules: [{answer: [{error: {status: 401}}]}]")

    await agent.runner.compact()

    [context] = await eventually(agent.contexts, within_s=60)
    assert context.failed
    assert context.error
    model.play(OK)
    await agent.runner.send_prompt("which colour?")
    assert not (await ends(agent, eventually, 2))[1].failed
    assert "vermilion" in told(model)


# Backends differ in when they report these.
FIGURES = (UsageReport, RateLimit)


def kind(message) -> str:
    return message.did if isinstance(message, ContextChanged) else type(message).__name__


async def test_clearing_forgets(agent, model, eventually):
    model.play(OK)
    await agent.runner.send_prompt("the colour is vermilion")
    await agent.runner.clear()
    await agent.runner.send_prompt("which one?")

    await ends(agent, eventually, 2)

    assert agent.contexts() == [ContextChanged("cleared")]
    assert "vermilion" not in told(model)
    assert "which one?" in told(model)
    assert "You are spark-agent." in told(model)
    assert agent.runner.session_id


async def test_another_runner_goes_on_with_the_session(start, model, eventually):
    model.play(OK)
    first = await start("the colour is vermilion")
    await ends(first, eventually)
    session = first.runner.session_id
    await first.runner.stop()

    second = await start("which colour?", resume=session)
    [result] = await ends(second, eventually)

    assert not result.failed
    assert "vermilion" in told(model)
    assert "You are spark-agent." in told(model)


async def test_a_session_goes_on_after_its_program_was_killed(start, model, mark, eventually):
    model.play(OK)
    first = await start("the colour is vermilion")
    await ends(first, eventually)
    session = first.runner.session_id
    os.kill(program_of(mark), signal.SIGKILL)
    await eventually(lambda: first.exits)

    second = await start("which colour?", resume=session)

    assert not (await ends(second, eventually))[0].failed
    assert "vermilion" in told(model)


@pytest.mark.parametrize("session", ["01a1e390-27d2-7ec2-801c-f6adde276a27", "nonsense"])
async def test_a_session_that_nobody_knows_begins_anew(start, model, eventually, session):
    model.play(OK)

    agent = await start("hello", resume=session)

    assert not (await ends(agent, eventually))[0].failed
    assert agent.runner.session_id not in (None, session)
