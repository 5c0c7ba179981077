"""An agent with `permission_mode: ask` asks people before it does something."""

import asyncio
import json
import re

import pytest

from culture.agent.contract import DeferCall, PermissionRequest
from culture.config.agent.permissions import PermissionRule, PermissionsConfig
from culture.config.agent.trust import TrustConfig

REMOVE = PermissionRequest("Bash", "rm -rf build", {"command": "rm -rf build"})
DEFERRABLE = PermissionRequest("Bash", "rm -rf build", {"command": "rm -rf build"}, "toolu_1", can_defer=True)
ASK = {
    "permission_mode": "ask",
    "permissions": PermissionsConfig(deny=(PermissionRule(command="git push*"),)),
}


@pytest.fixture
async def agent(make_agent, ori, eventually):
    """An agent in the middle of a turn."""
    agent = make_agent("spark-claude", **ASK)
    async with agent.running():
        await eventually(agent.is_present)
        ori.send("PRIVMSG #general :@spark-claude tidy up")
        await eventually(lambda: agent.prompts)
        yield agent


def judging(agent, request: PermissionRequest) -> "asyncio.Task[tuple[bool, str]]":
    return asyncio.create_task(agent.daemon.judge(request))


async def test_reading_is_allowed_and_what_a_rule_forbids_is_refused(agent):
    assert await agent.daemon.judge(PermissionRequest("Bash", "ls", {"command": "ls"})) == (True, "")
    allowed, why = await agent.daemon.judge(PermissionRequest("Bash", "git push", {"command": "git push"}))
    assert (allowed, why) == (False, "not allowed: a rule in `permissions:` of agents.yaml forbids it")
    assert agent.file.questions.open() == []


@pytest.mark.parametrize(("answer", "is_allowed"), [("yes, go ahead", True), ("no", False), ("abort", False)])
async def test_a_person_is_asked_about_exactly_this_call(agent, ori, eventually, answer, is_allowed):
    judged = judging(agent, REMOVE)
    assert (await ori.until("PRIVMSG")).endswith('[QUESTION] Task "tidy up" needs input:')
    assert (await ori.until("PRIVMSG")).endswith(':"May I run this command? rm -rf build [y/N]"')
    await ori.until("Reply with: @spark-claude yes/no/abort")
    [question] = agent.file.questions.open()
    assert json.loads(question.parameters) == {
        "tool": "Bash",
        "command": "rm -rf build",
        "input": {"command": "rm -rf build"},
    }

    ori.send(f"PRIVMSG #general :@spark-claude {answer}")

    allowed, why = await judged
    assert allowed is is_allowed
    assert is_allowed or f"spark-ori answered: @spark-claude {answer}" in why
    if answer == "abort":
        # The message is not repeated.
        await eventually(lambda: agent.states() == ["stopped"])
        assert agent.runner.interrupts == 1


async def test_a_permission_counts_once(agent, ori):
    judged = judging(agent, REMOVE)
    await ori.until("Reply with:")
    ori.send("PRIVMSG #general :@spark-claude yes")
    assert (await judged)[0]

    again = judging(agent, REMOVE)
    await ori.until("[QUESTION]")
    again.cancel()


async def test_a_waiting_turn_does_not_stall(agent, ori):
    judged = judging(agent, REMOVE)
    await ori.until("Reply with:")
    turn = agent.daemon.operations._turns.current
    assert turn.stalls_at_s(0.001) == float("inf")
    ori.send("PRIVMSG #general :@spark-claude no")
    await judged
    assert turn.stalls_at_s(0.001) < float("inf")


async def test_after_a_restart_the_answer_starts_a_turn_and_the_call_is_allowed_once(
    make_agent, ori, eventually
):
    first = make_agent("spark-claude", **ASK)
    async with first.running():
        await eventually(first.is_present)
        ori.send("PRIVMSG #general :@spark-claude tidy up")
        await eventually(lambda: first.prompts)
        judged = judging(first, REMOVE)
        await ori.until("Reply with:")
    # A backend that is stopped asks no longer.
    judged.cancel()
    await asyncio.gather(judged, return_exceptions=True)

    second = make_agent("spark-claude", **ASK)
    async with second.running():
        await eventually(second.is_present)
        # The message is not repeated: the answer brings it back.
        assert second.states() == ["silent"]
        ori.send("PRIVMSG #general :@spark-claude yes")
        await eventually(lambda: second.prompts)
        assert re.fullmatch(
            r"\[IRC answer to question q\w{3}\] <spark-ori> @spark-claude yes\n"
            r'    You asked in #general: "May I run this command\? rm -rf build \[y/N\]"\n'
            r"    It is allowed once, exactly as you asked. Do it now.\n"
            r"    That was for: <spark-ori> @spark-claude tidy up",
            second.prompts[0],
        )
        assert await second.daemon.judge(REMOVE) == (True, "")
        again = judging(second, REMOVE)
        await ori.until("[QUESTION]")
        again.cancel()


async def test_a_call_that_the_backend_keeps_goes_on_with_the_answer(agent, ori, eventually):
    with pytest.raises(DeferCall):
        await agent.daemon.judge(DEFERRABLE)
    await agent.runner.defers("toolu_1")
    await ori.until("Reply with:")
    ori.send("PRIVMSG #general :@spark-claude please build the docs, too")
    await eventually(lambda: agent.states() == ["silent", "queued"])
    waits = re.compile(r"waits for the answer to question q\w{3} in #general")
    await eventually(lambda: waits.search(agent.daemon.operations.status()))

    ori.send("PRIVMSG #general :@spark-claude yes")
    await eventually(lambda: agent.runner.continued)
    assert agent.runner.continued == [("toolu_1", True, "@spark-claude yes")]
    assert len(agent.prompts) == 1
    await agent.runner.ends_turn()
    await eventually(lambda: len(agent.prompts) == 2)
    assert agent.prompts[1].endswith("please build the docs, too")


async def test_a_kept_call_survives_a_restart_and_runs_once(make_agent, ori, eventually):
    first = make_agent("spark-claude", **ASK)
    async with first.running():
        await eventually(first.is_present)
        ori.send("PRIVMSG #general :@spark-claude tidy up")
        await eventually(lambda: first.prompts)
        with pytest.raises(DeferCall):
            await first.daemon.judge(DEFERRABLE)
        await ori.until("Reply with:")

    second = make_agent("spark-claude", **ASK)
    async with second.running():
        await eventually(second.is_present)
        second.runner.deferred.append("toolu_1")
        ori.send("PRIVMSG #general :@spark-claude yes")
        await eventually(lambda: second.runner.continued)
        assert second.prompts == []
        await second.runner.ends_turn()
        [question] = second.file.questions.last(5)
        assert question.used_ms is not None


async def test_a_call_that_the_backend_lost_is_allowed_by_a_prompt(agent, ori, eventually):
    with pytest.raises(DeferCall):
        await agent.daemon.judge(DEFERRABLE)
    await agent.runner.defers("toolu_1")
    agent.runner.deferred.clear()
    await ori.until("Reply with:")

    ori.send("PRIVMSG #general :@spark-claude yes")
    await eventually(lambda: len(agent.prompts) == 2)
    assert "It is allowed once, exactly as you asked. Do it now." in agent.prompts[1]
    assert await agent.daemon.judge(DEFERRABLE) == (True, "")


@pytest.mark.parametrize("action", ["deny", "abort"])
async def test_a_kept_call_is_refused_when_nobody_answers_in_time(make_agent, ori, eventually, action):
    agent = make_agent("spark-claude", trust=TrustConfig(timeout="1s", timeout_action=action), **ASK)
    async with agent.running():
        await eventually(agent.is_present)
        ori.send("PRIVMSG #general :@spark-claude tidy up")
        await eventually(lambda: agent.prompts)
        with pytest.raises(DeferCall):
            await agent.daemon.judge(DEFERRABLE)
        await agent.runner.defers("toolu_1")
        await eventually(lambda: agent.runner.continued, 20)
        [(call, is_allowed, why)] = agent.runner.continued
        assert (call, is_allowed) == ("toolu_1", False)
        assert "nobody answered within 1s" in why
        assert len(agent.file.questions.open()) == 1
