"""People see that their message was taken up: typing and reactions, and agents see neither."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import ClassVar

import pytest
from support.irc import Plain, connected

from culture.agent.reporting import receipts
from culture.agent.turns.turns import Turn
from culture.store.agent.queue import QueuedMessage, QueueEntry, QueueState


@pytest.fixture
async def modern(ircd) -> AsyncIterator[Plain]:
    """A person whose client shows tags."""
    async with connected(ircd.port, "spark-ori", "#general", caps="message-tags echo-message") as ori:
        yield ori


async def asked(modern: Plain, agent, eventually, text: str) -> str:
    """Ask something and return the id of the message."""
    so_far = len(agent.prompts)
    modern.send(f"PRIVMSG #general :@spark-claude {text}")
    line = await modern.until(f"PRIVMSG #general :@spark-claude {text}")
    await eventually(lambda: len(agent.prompts) > so_far, 20)
    return next(tag for tag in line.split()[0][1:].split(";") if tag.startswith("msgid=")).partition("=")[2]


def is_reaction(line: str, msgid: str, reaction: str) -> bool:
    return f"+draft/reply={msgid}" in line and f"+draft/react={reaction}" in line


async def reaction_to(modern: Plain, msgid: str, reaction: str) -> None:
    while not is_reaction(await modern.until("+draft/react"), msgid, reaction):
        continue


async def test_a_message_gets_eyes_and_a_check_mark_and_typing_between(modern, agent, eventually):
    msgid = await asked(modern, agent, eventually, "one")

    await reaction_to(modern, msgid, "👀")
    typing = await modern.until("+typing=active")
    assert typing.endswith(" TAGMSG #general")

    await agent.runner.ends_turn()
    await modern.until("+typing=done")
    await reaction_to(modern, msgid, "✅")


async def test_a_message_that_is_given_up_gets_a_cross_and_a_stopped_one_a_sign(modern, agent, eventually):
    failed = await asked(modern, agent, eventually, "one")
    await agent.runner.ends_turn("the model does not like it", status=400)
    await reaction_to(modern, failed, "❌")

    stopped = await asked(modern, agent, eventually, "two")
    modern.send("PRIVMSG #general :@spark-claude stop")
    await reaction_to(modern, stopped, "🛑")


async def test_a_turn_that_is_repeated_after_a_crash_has_no_outcome_yet(modern, agent, eventually):
    msgid = await asked(modern, agent, eventually, "one")
    await agent.runner.dies()
    await eventually(lambda: len(agent.prompts) == 2, 20)
    await agent.runner.ends_turn()
    await reaction_to(modern, msgid, "✅")

    reactions = [line for line in modern.seen if "+draft/react" in line]
    assert [is_reaction(line, msgid, "👀") for line in reactions] == [True, False]


async def test_typing_is_sent_again_while_the_turn_runs(modern, agent, eventually):
    await asked(modern, agent, eventually, "one")
    await modern.until("+typing=active")
    await modern.until("+typing=active")
    await agent.runner.ends_turn()
    await modern.until("+typing=done")


async def test_nobody_is_shown_as_typing_while_the_agent_waits_for_an_answer(monkeypatch, eventually):
    class Wire:
        sent: ClassVar[list[str]] = []

        def send_tags(self, target: str, tags: Mapping[str, str]) -> None:
            self.sent += [f"{target} {name}={value}" for name, value in tags.items()]

    monkeypatch.setattr(receipts, "TYPING_INTERVAL_S", 0.01)
    question = QueuedMessage("unnamed-1", "mention", "spark-ori", "#general", "one", 0)
    entry = QueueEntry(1, QueueState.INJECTED, question, 0, "3f2a", 1, "")
    shown = receipts.Receipts(Wire(), lambda number: entry)
    turn = Turn("3f2a", (entry,), 0.0, waits=1)
    shown.changed(turn)
    running = asyncio.create_task(shown.run())
    due = shown._next_typing_s
    await eventually(lambda: shown._next_typing_s > due, 20)
    assert Wire.sent == []
    turn.waits = 0
    await eventually(lambda: Wire.sent, 20)
    running.cancel()
    assert set(Wire.sent) == {"#general +typing=active"}


async def test_other_agents_get_no_receipts(ircd, modern, agent, eventually):
    async with connected(ircd.port, "spark-other", "#general", caps="message-tags") as other:
        other.send("MODE spark-other +B", "PRIVMSG #general :@spark-claude one")
        await eventually(lambda: agent.prompts, 20)
        await agent.runner.ends_turn()
    own = await asked(modern, agent, eventually, "two")
    await agent.runner.ends_turn()
    await reaction_to(modern, own, "✅")

    tags = [line for line in modern.seen if line.startswith("@") and "TAGMSG" in line]
    assert all(f"+draft/reply={own}" in line or "+typing" in line for line in tags)


async def test_receipts_can_be_switched_off(ircd, modern, make_agent, eventually):
    agent = make_agent("spark-claude", receipts="off")
    async with agent.running():
        await eventually(agent.is_present, 20)
        await asked(modern, agent, eventually, "one")
        await agent.runner.says("done")
        await agent.runner.ends_turn()
        await modern.until("PRIVMSG #general :done")
        assert not any(" TAGMSG #" in line for line in modern.seen)


async def test_a_plain_client_sees_nothing_of_it(ori, agent, eventually):
    ori.send("PRIVMSG #general :@spark-claude one")
    await eventually(lambda: agent.prompts, 20)
    await agent.runner.says("done")
    await agent.runner.ends_turn()
    await ori.until("PRIVMSG #general :done")
    ori.send("PING x")
    await ori.until("PONG")
    assert not any(" TAGMSG #" in line or "👀" in line for line in ori.seen)
