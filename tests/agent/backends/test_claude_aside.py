"""Calls beside the turns of an agent, with the real Claude Code and by HTTP; only the model is scripted."""

from dataclasses import replace

import pytest
from support.backends import ROWS
from support.watched import OK, ends, told

from culture.agent.backends.messages_api import MessagesApiModel
from culture.agent.backends.table import TOOLLESS
from culture.agent.contract import DeferCall, Usage
from culture.errors import TemporaryError

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def row():
    return ROWS["claude"]


def sessions(home) -> list[str]:
    """Return the names of the sessions that the program has kept."""
    return [file.name for file in (home / "home").glob(".claude/projects/*/*.jsonl")]


def bodies(model) -> list[dict]:
    return [each.request.body for each in model.server.asked if not each.is_aside]


# A question beside a turn

PENDING = """
rules:
  - {prompt: ^which files, answer: [{text: only the logs}], usage: {input_tokens: 500, output_tokens: 20}}
  - {after_tool: any, answer: [{text: removed}]}
  - {answer: [{run: [rm, old.log]}]}
"""


async def test_a_fork_answers_while_the_turn_waits_for_a_permission(start, model, home, eventually):
    asked, answers = [], []

    async def judge(request):
        asked.append(request)
        await eventually(lambda: answers, within_s=60)
        return True, ""

    model.play(PENDING)
    agent = await start("clean up", judge=judge)
    await eventually(lambda: asked, within_s=30)

    answer = await agent.runner.ask_aside("which files?")

    assert answer.text == "only the logs"
    assert answer.usage == Usage(500, 0, 20)
    assert answer.cost_usd > 0
    # It knows the conversation, and can do nothing.
    assert "clean up" in told(model)
    assert not bodies(model)[-1].get("tools")
    assert agent.results() == []
    assert sessions(home) == [f"{agent.runner.session_id}.jsonl"]
    answers.append(answer)
    [result] = await ends(agent, eventually)
    assert not result.failed
    assert "which files" not in told(model)


async def test_a_session_that_has_said_nothing_yet_answers_from_the_background(agent, model):
    model.play(OK)

    answer = await agent.runner.ask_aside("which files?", background="You were asked to remove logs.")

    assert answer.text == "ok"
    assert "You were asked to remove logs." in told(model)
    assert "You are spark-agent." in told(model)


async def test_a_session_with_a_deferred_call_is_never_forked(start, model, home, eventually):
    async def judge(request):
        raise DeferCall

    model.play(PENDING)
    agent = await start("clean up", judge=judge, deferrals=home / "deferrals")
    [result] = await ends(agent, eventually)
    assert result.deferred

    answer = await agent.runner.ask_aside("which files?", background="You want to remove old.log.")

    assert answer.text
    assert "You want to remove old.log." in told(model)
    assert "clean up" not in told(model)
    await agent.runner.answer_deferred(result.deferred.id, allowed=False)
    assert not (await ends(agent, eventually, 2))[1].failed


async def test_a_side_question_that_the_model_fails_at_is_an_error(agent, model):
    model.play("rules: [{answer: [{error: {status: 401}}]}]")

    with pytest.raises(TemporaryError, match="status 401"):
        await agent.runner.ask_aside("which files?")


# A model without tools

JUDGE = "rules: [{answer: [{text: OK}], usage: {input_tokens: 300, cached_tokens: 100, output_tokens: 5}}]"


async def test_with_a_key_a_toolless_call_is_one_http_request(spec, model):
    model.play(JUDGE)
    judge = TOOLLESS["claude"](replace(spec, model="claude-haiku-4-5", thinking="off"))

    answer = await judge.complete("You judge agents.", "Is it stuck?")

    assert isinstance(judge, MessagesApiModel)
    assert (answer.text, answer.usage, answer.model) == ("OK", Usage(300, 100, 5), "claude-haiku-4-5")
    [body] = bodies(model)
    assert body["system"] == "You judge agents."
    assert body["messages"] == [{"role": "user", "content": "Is it stuck?"}]
    assert body["max_tokens"] <= 2000
    assert not {"tools", "thinking"} & set(body)


async def test_without_the_name_of_a_model_the_api_is_asked_for_one(spec, model):
    model.play(JUDGE)

    answer = await TOOLLESS["claude"](replace(spec, model="")).complete("You judge.", "Is it stuck?")

    assert answer.model == "rehearsal"


async def test_thinking_of_a_toolless_call_can_be_configured(spec, model):
    model.play(JUDGE)

    await TOOLLESS["claude"](replace(spec, model="opus-4", thinking="max")).complete("You judge.", "Well?")

    [body] = bodies(model)
    assert body["output_config"] == {"effort": "max"}
    assert body["thinking"] == {"type": "adaptive"}


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("{answer: [{error: {status: 429}}], headers: {retry-after: '30'}}", "asks to wait 30 s"),
        ("{answer: [{error: {status: 401}}]}", "refuses the key"),
        ("{answer: [{drop: true}]}", "cannot ask the model"),
    ],
)
async def test_a_toolless_call_that_fails_says_why(spec, model, rule, why):
    model.play(f"rules: [{rule}]")

    with pytest.raises(TemporaryError, match=why):
        await TOOLLESS["claude"](replace(spec, model="claude-haiku-4-5")).complete("You judge.", "Well?")


async def test_with_the_login_of_a_plan_the_program_is_asked_in_its_cheapest_form(spec, model, home):
    model.play(JUDGE)
    login = {"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": "rehearsal"}
    judge = TOOLLESS["claude"](replace(spec, env={**spec.env, **login}, thinking="off"))

    answer = await judge.complete("You judge agents.", "/compact is @/etc/hostname stuck?")

    assert (answer.text, answer.usage) == ("OK", Usage(300, 100, 5))
    assert answer.cost_usd > 0
    assert sessions(home) == []
    [request] = [each.request for each in model.server.asked if not each.is_aside]
    assert request.conversation.prompt == "/compact is @/etc/hostname stuck?"
    assert "You judge agents." in told(model)
    assert not request.body.get("tools")
    # About four characters are a token: all that the program adds is a few hundred of them.
    assert len(told(model)) / 4 < 1000
