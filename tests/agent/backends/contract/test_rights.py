"""What an agent may do: nothing that was not judged, and whatever its daemon does for it."""

import asyncio

import pytest
from support.watched import OK, Judge, ends, processes, told

from culture.agent.contract import Tool
from culture.errors import UsageError

pytestmark = pytest.mark.timeout(120)


async def test_the_judge_is_asked_about_commands(agent, model, judge, eventually):
    await agent.runner.send_prompt("[IRC DM] <spark-ori> ping")
    await ends(agent, eventually)

    [request] = judge.asked
    assert request.command == "irc send spark-ori 'spark-ori: pong'"
    assert request.tool


# The refusal comes as the result of the tool, or as something that the user says to it.
TOUCH = """
rules:
  - {times: 1, answer: [{run: [touch, owned]}]}
  - {after_tool: any, answer: [{text: I could not}]}
  - {answer: [{text: I could not}]}
"""


async def test_what_the_judge_refuses_is_not_done(agent, model, judge, home, eventually):
    judge.refuses = True
    model.play(TOUCH)
    await agent.runner.send_prompt("go")

    [result] = await ends(agent, eventually)

    assert [request.command for request in judge.asked] == ["touch owned"]
    assert not (home / "work" / "owned").exists()
    assert not result.failed


@pytest.mark.needs("reason")
async def test_the_model_is_told_why_it_may_not(agent, model, judge, eventually):
    judge.refuses = True
    model.play(TOUCH)
    await agent.runner.send_prompt("go")
    await ends(agent, eventually)

    assert Judge.REFUSAL in told(model)


@pytest.mark.needs("tools")
async def test_the_daemons_tools_are_run_in_its_own_process(start, model, judge, eventually):
    called = []

    async def speak(arguments):
        called.append(dict(arguments))
        if arguments["text"] == "no":
            raise UsageError("there is no such channel", hint="irc channels")
        return "it is said"

    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    agent = await start(tools=(Tool("irc_send", "Say something.", schema, speak),))
    model.play(OK)
    await agent.runner.send_prompt("hello")
    await ends(agent, eventually)
    [name] = [name for name in offered(model) if name.endswith("irc_send")]
    for text in ("hello", "no"):
        model.play(
            f"rules: [{{after_tool: any, answer: [{{text: 'got {{output}}'}}]}},"
            f" {{answer: [{{tool: {{name: {name}, input: {{text: '{text}'}}}}}}]}}]"
        )
        await agent.runner.send_prompt("speak")
        await ends(agent, eventually, len(agent.results()) + 1)

    assert called == [{"text": "hello"}, {"text": "no"}]
    assert "it is said" in agent.texts()[1]
    assert "there is no such channel" in agent.texts()[2]
    assert all(request.tool == "irc_send" for request in judge.asked)


@pytest.mark.needs("tools")
async def test_a_session_that_goes_on_has_its_tools(start, model, eventually):
    async def speak(arguments):
        return "it is said"

    tool = Tool("irc_send", "Say something.", {"type": "object", "properties": {}}, speak)
    model.play(OK)
    first = await start("hello", tools=(tool,))
    await ends(first, eventually)
    session = first.runner.session_id
    await first.runner.stop()

    second = await start("hello again", tools=(tool,), resume=session)
    await ends(second, eventually)
    [name] = [name for name in offered(model) if name.endswith("irc_send")]
    model.play(
        f"rules: [{{after_tool: any, answer: [{{text: 'got {{output}}'}}]}},"
        f" {{answer: [{{tool: {{name: {name}}}}}]}}]"
    )
    await second.runner.send_prompt("speak")
    await ends(second, eventually, 2)

    assert "it is said" in second.texts()[-1]


def offered(model) -> tuple[str, ...]:
    return model.server.asked[-1].request.conversation.tools


async def test_who_is_stopped_while_a_permission_is_pending_does_nothing_more(
    start, model, mark, home, eventually
):
    """A refusal would let the agent go on without anybody who watches it."""
    asked = []

    async def judge(request):
        asked.append(request)
        await asyncio.Event().wait()

    model.play(TOUCH)
    agent = await start("go", judge=judge)
    await eventually(lambda: asked, within_s=60)
    requests = len(model.server.asked)

    await agent.runner.stop()

    assert agent.exits == [0]
    assert processes(mark) == {}
    assert len(model.server.asked) == requests
    assert not (home / "work" / "owned").exists()


async def test_who_is_interrupted_while_a_permission_is_pending_can_go_on(start, model, home, eventually):
    asked = []

    async def judge(request):
        asked.append(request)
        await asyncio.Event().wait()

    model.play(TOUCH)
    agent = await start("go", judge=judge)
    await eventually(lambda: asked, within_s=60)

    await agent.runner.interrupt()

    [result] = await ends(agent, eventually)
    assert result.failed
    model.play(OK)
    await agent.runner.send_prompt("and now?")
    assert not (await ends(agent, eventually, 2))[1].failed
    assert not (home / "work" / "owned").exists()
