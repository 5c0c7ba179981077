"""What a backend is asked beside the turns of its agent: without tools, and without disturbing them."""

import json

import pytest
from support.watched import OK, ends

from culture.agent.backends.table import TOOLLESS
from culture.errors import TemporaryError

pytestmark = pytest.mark.timeout(120)

PENDING = """
rules:
  - {prompt: which files, answer: [{text: only the logs}], usage: {input_tokens: 500, output_tokens: 20}}
  - {after_tool: any, answer: [{text: removed}]}
  - {prompt: clean up, answer: [{run: [touch, removed]}]}
  - {answer: [{text: removed}]}
"""
JUDGE = "rules: [{answer: [{text: 'OK, go on'}], usage: {input_tokens: 300, output_tokens: 5}}]"


def side_request(model, words: str) -> str:
    """Return the last request whose prompt has these words, as JSON.

    Claude Code also asks for a title of the session, with the words in a `<session>`.
    """
    prompts = [(each.request.conversation.prompt, each.request) for each in model.server.asked]
    requests = [request for prompt, request in prompts if words in prompt and "<session>" not in prompt]
    return json.dumps(requests[-1].body, ensure_ascii=False)


async def test_a_question_is_answered_while_the_turn_waits_for_a_permission(start, model, home, eventually):
    asked, answers = [], []

    async def judge(request):
        asked.append(request)
        await eventually(lambda: answers, within_s=90)
        return True, ""

    model.play(PENDING)
    agent = await start("clean up", judge=judge)
    await eventually(lambda: asked, within_s=60)

    answer = await agent.runner.ask_aside("which files?", background="You were asked to clean up.")

    assert answer.text == "only the logs"
    assert answer.usage.output_tokens == 20
    assert "clean up" in side_request(model, "which files")
    assert agent.results() == []
    assert not (home / "work" / "removed").exists()
    answers.append(answer)
    [result] = await ends(agent, eventually)
    assert not result.failed
    assert (home / "work" / "removed").exists()
    assert len(asked) == 1


async def test_who_is_asked_aside_can_do_nothing(agent, model, judge, home):
    model.play("""
rules:
  - {after_tool: any, answer: [{text: I could not}]}
  - {prompt: have no tools, answer: [{text: I could not}]}
  - {answer: [{run: [touch, owned]}]}
""")

    await agent.runner.ask_aside("do it", background="Do what you are told.")

    assert not (home / "work" / "owned").exists()
    assert judge.asked == []


async def test_a_model_without_tools_answers_once(row, spec, model):
    model.play(JUDGE)
    judge = TOOLLESS[row.agent](spec)

    answer = await judge.complete("You judge agents.", "Is it stuck?")

    assert answer.text == "OK, go on"
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (300, 5)
    told = side_request(model, "Is it stuck?")
    assert "You judge agents." in told
    assert "You are spark-agent." not in told
    # About four characters are a token: the program adds at most some hundreds of them.
    assert len(told) / 4 < 1500


async def test_a_model_without_tools_that_fails_says_so(row, spec, model):
    model.play("rules: [{answer: [{error: {status: 401}}]}]")

    with pytest.raises(TemporaryError, match=r"401|refuse"):
        await TOOLLESS[row.agent](spec).complete("You judge agents.", "Is it stuck?")


async def test_the_turns_go_on_after_a_question_aside(agent, model, eventually):
    model.play(OK)
    await agent.runner.send_prompt("one")
    await ends(agent, eventually)
    session = agent.runner.session_id

    await agent.runner.ask_aside("which files?", background="You were asked to count.")
    await agent.runner.send_prompt("two")

    assert not (await ends(agent, eventually, 2))[1].failed
    assert agent.runner.session_id == session
    assert "which files" not in model.prompts()[-1]
