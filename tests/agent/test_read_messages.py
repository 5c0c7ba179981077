"""A message that the agent read and answered during a turn does not start a second one, and none is lost."""

import asyncio

import pytest

from culture.store.agent.queue import QueueState

MENTION = "[IRC @mention in #general] <spark-ori> @spark-claude "


async def asked(agent, ori, eventually, text: str) -> None:
    """The question is with the backend."""
    ori.send(f"PRIVMSG #general :@spark-claude {text}")
    await eventually(lambda: agent.prompts, 20)


async def also_asked(agent, ori, eventually, text: str = "two") -> None:
    """Another message waits while the turn runs."""
    ori.send(f"PRIVMSG #general :@spark-claude {text}")
    await eventually(lambda: agent.states() == ["injected", "queued"], 20)


async def reads(agent, limit: int = 50) -> list[str]:
    read = await agent.daemon.handle({"type": "irc_read", "channel": "#general", "limit": limit})
    return [line["text"] for line in read["lines"]]


async def says(agent, ori, text: str, target: str = "#general") -> None:
    await agent.daemon.handle({"type": "irc_send", "channel": target, "message": text})
    if target == "#general":
        await ori.until(f":{text}")


async def test_what_was_read_and_answered_starts_no_second_turn(agent, ori, eventually):
    await asked(agent, ori, eventually, "one")
    await also_asked(agent, ori, eventually)
    assert "@spark-claude two" in await reads(agent)
    await says(agent, ori, "spark-ori: both are done")

    await agent.runner.ends_turn()

    assert agent.states() == ["answered", "answered"]
    first, second = agent.daemon.operations.queue_rows()
    assert second["turn"] == first["turn"]
    ori.send("PRIVMSG spark-claude :three")
    await eventually(lambda: len(agent.prompts) == 2, 20)
    assert agent.prompts == [f"{MENTION}one", "[IRC DM] <spark-ori> three"]


@pytest.mark.parametrize(
    "case",
    ["not read", "not answered", "answered before", "other sender", "elsewhere", "failed", "partly read"],
)
async def test_everything_else_starts_a_turn_of_its_own(agent, ori, eventually, case):
    await asked(agent, ori, eventually, "one")
    if case == "answered before":
        await says(agent, ori, "spark-ori: done")
    await reads(agent)
    if case == "answered before":
        ori.send("PRIVMSG #general :@spark-claude two")
        await eventually(lambda: agent.states() == ["answered", "queued"], 20)
    else:
        await also_asked(agent, ori, eventually)
    if case == "partly read":
        # The first of two messages, so that the second was not read.
        ori.send("PRIVMSG #general :@spark-claude three")
        await eventually(lambda: agent.states() == ["injected", "queued", "queued"], 20)
        assert await reads(agent, 1) == ["@spark-claude two"]
        await says(agent, ori, "spark-ori: two is done")
    elif case != "not read":
        await reads(agent)
    if case == "other sender":
        await says(agent, ori, "spark-bo: done")
    elif case == "elsewhere":
        await says(agent, ori, "spark-ori: done", "spark-ori")
    elif case in ("not read", "failed"):
        await says(agent, ori, "spark-ori: done")

    await agent.runner.ends_turn("broken" if case == "failed" else "", status=400)

    await eventually(lambda: len(agent.prompts) == 2, 20)
    assert agent.prompts[1] == f"{MENTION}{'three' if case == 'partly read' else 'two'}"


async def test_a_question_of_the_agent_answers_nothing(agent, ori, eventually):
    await asked(agent, ori, eventually, "one")
    await also_asked(agent, ori, eventually)
    await reads(agent)
    question = {"type": "irc_ask", "channel": "#general", "question": "spark-ori: which?", "timeout": 600}
    asking = asyncio.create_task(agent.daemon.handle(question))
    await ori.until("which?")

    await agent.runner.ends_turn()

    await eventually(lambda: len(agent.prompts) == 2, 20)
    asking.cancel()


async def test_a_process_that_is_killed_before_the_end_of_the_turn_answers_again(ori, make_agent, eventually):
    first = make_agent("spark-claude")
    async with first.running():
        await eventually(first.is_present, 20)
        await asked(first, ori, eventually, "one")
        await also_asked(first, ori, eventually)
        await reads(first)
        await says(first, ori, "spark-ori: both are done")
        first.kill()
        await ori.until("QUIT")
    second = make_agent("spark-claude")
    async with second.running():
        await eventually(lambda: second.prompts == [f"{MENTION}two"], 20)
        assert second.states() == [QueueState.ANSWERED, QueueState.INJECTED]
