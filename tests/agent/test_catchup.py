"""What was said while an agent was away: heard once, in order, and answered if it was worth a turn."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

import pytest
from support.accounts import PASSWORD, accounts_in
from support.cable import cable
from support.irc import connected, log_in

from culture.agent.identity import Passwords
from culture.config.address import TcpAddress
from culture.config.agents import TurnsConfig
from culture.errors import UnavailableError

MENTION = "[IRC @mention in #general] <spark-ori> @spark-claude "


async def read(agent, conversation: str) -> list[str]:
    reading = await agent.daemon.handle({"type": "irc_read", "channel": conversation})
    return [line["text"] for line in reading["lines"]]


@pytest.fixture
def was_away(ori, make_agent, eventually) -> Callable[..., Awaitable[None]]:
    """`await was_away(*lines)`: the agent came and went, and then this was sent."""

    async def wait(*lines: str) -> None:
        first = make_agent("spark-claude")
        async with first.running():
            await eventually(first.is_present)
        await ori.until("QUIT")
        if lines:
            ori.send(*lines, "PING x")
            await ori.until("PONG")

    return wait


async def test_what_was_said_meanwhile_is_read_and_answered_once(ori, make_agent, eventually):
    first = make_agent("spark-claude")
    async with first.running():
        await eventually(first.is_present)
        ori.send("PRIVMSG #general :before")
        await eventually(lambda: first.file.hearing.mark_of("#general").msgid)
    await ori.until("QUIT")
    ori.send("PRIVMSG #general :meanwhile", "PRIVMSG #general :@spark-claude one", "PING x")
    await ori.until("PONG")

    second = make_agent("spark-claude")
    async with second.running():
        await eventually(lambda: second.prompts)
        ori.send("PRIVMSG #general :afterwards")
        await ori.until("JOIN #general")
        await eventually(lambda: second.file.hearing.mark_of("#general"))
        assert second.prompts == [f"{MENTION}one"]
        assert (await read(second, "#general"))[:3] == ["before", "meanwhile", "@spark-claude one"]
        await second.runner.ends_turn()

    third = make_agent("spark-claude")
    async with third.running():
        await eventually(third.is_present)
        assert third.prompts == []
        assert third.states() == ["silent"]


async def test_what_it_had_not_read_yet_is_there_after_a_restart(ori, make_agent, eventually):
    first = make_agent("spark-claude")
    async with first.running():
        await eventually(first.is_present)
        ori.send(*(f"PRIVMSG #general :line {number}" for number in range(3)))
        await ori.until("JOIN")
        await first.daemon.handle({"type": "irc_send", "channel": "#general", "message": "mine"})
        await ori.until("mine")
        first_two = await first.daemon.handle({"type": "irc_read", "channel": "#general", "limit": 2})
        assert [line["text"] for line in first_two["lines"]] == ["line 0", "line 1"]
    await ori.until("QUIT")
    ori.send("PRIVMSG #general :meanwhile", "PING x")
    await ori.until("PONG")

    second = make_agent("spark-claude")
    async with second.running():
        await eventually(second.is_present)
        assert await read(second, "#general") == ["line 2", "mine", "meanwhile"]


async def test_what_was_said_before_it_first_came_is_not_its_business(ori, make_agent, eventually):
    ori.send("PRIVMSG #general :@spark-claude one", "PING x")
    await ori.until("PONG")

    agent = make_agent("spark-claude")
    async with agent.running():
        await eventually(agent.is_present)
        assert agent.states() == []


async def test_a_mention_missed_by_an_agent_that_had_heard_nothing_yet_is_not_lost(
    make_agent, eventually, was_away
):
    await was_away("PRIVMSG #general :@spark-claude one")

    second = make_agent("spark-claude")
    async with second.running():
        await eventually(lambda: second.prompts == [f"{MENTION}one"])


async def test_a_direct_message_that_nobody_read_is_found(ircd, ori, home, make_agent, eventually, was_away):
    await was_away()
    # The server has delivered it, and whoever got it did not live to read it.
    async with connected(ircd.port, "spark-claude") as unread:
        # From now on the nick is for who is logged in.
        accounts_in(home / "state", "spark-claude")
        await log_in(unread, "spark-claude", PASSWORD)
        ori.send("PRIVMSG spark-claude :psst")
        await unread.until("psst")

    second = make_agent("spark-claude", passwords=Passwords(account=PASSWORD))
    async with second.running():
        await eventually(lambda: second.prompts == ["[IRC DM] <spark-ori> psst"])
        assert await read(second, "spark-ori") == ["psst"]


async def test_a_direct_message_that_was_heard_is_not_told_as_missed(ori, make_agent, eventually, caplog):
    caplog.set_level(logging.INFO)
    first = make_agent("spark-claude")
    async with first.running():
        await eventually(first.is_present)
        ori.send("PRIVMSG spark-claude :psst")
        await eventually(lambda: first.prompts)
        await first.runner.ends_turn()

    second = make_agent("spark-claude")
    async with second.running():
        await eventually(second.is_present)
    assert "caught up" not in caplog.text
    await ori.until("QUIT")
    ori.send("PRIVMSG #general :meanwhile", "PING x")
    await ori.until("PONG")

    third = make_agent("spark-claude")
    async with third.running():
        await eventually(third.is_present)
    assert "caught up with 1 message\n" in caplog.text


async def test_who_had_the_nick_before_leaves_an_agent_no_direct_messages(
    ircd, ori, make_agent, eventually, was_away
):
    await was_away()
    async with connected(ircd.port, "spark-claude") as somebody_else:
        ori.send("PRIVMSG spark-claude :psst")
        await somebody_else.until("psst")

    second = make_agent("spark-claude")
    async with second.running():
        await eventually(second.is_present)
        ori.send("PRIVMSG spark-claude :hello")
        await eventually(lambda: second.prompts == ["[IRC DM] <spark-ori> hello"])


async def test_direct_messages_of_several_people_are_all_found(
    ircd, ori, home, make_agent, eventually, was_away
):
    await was_away()
    async with connected(ircd.port, "spark-claude") as unread, connected(ircd.port, "spark-bo") as bo:
        # From now on the nick is for who is logged in.
        accounts_in(home / "state", "spark-claude")
        await log_in(unread, "spark-claude", PASSWORD)
        for number, person in enumerate((ori, bo, ori, bo)):
            person.send(f"PRIVMSG spark-claude :number {number}")
            await unread.until(f"number {number}")

    second = make_agent("spark-claude", passwords=Passwords(account=PASSWORD))
    async with second.running():
        await eventually(lambda: len(second.states()) == 4)
        rows = second.daemon.operations.queue_rows()
        assert [row["said"] for row in rows] == sorted(row["said"] for row in rows)
        assert [row["text"] for row in rows if row["sender"] == "spark-bo"] == ["number 1", "number 3"]


async def test_that_nobody_can_say_who_wrote_is_told_and_channels_are_read_all_the_same(
    ircd, make_agent, eventually, caplog, was_away
):
    await was_away("PRIVMSG #general :@spark-claude one")

    async with cable(ircd.port) as wire:
        wire.garbles_up = b"CHATHISTORY TARGETS timestamp=", b"CHATHISTORY TARGETS yesterday="
        second = make_agent("spark-claude", TcpAddress("127.0.0.1", wire.port))
        async with second.running():
            await eventually(lambda: second.prompts == [f"{MENTION}one"])
    assert "what was said meanwhile is not known: who wrote meanwhile: " in caplog.text


async def test_it_stops_also_at_the_moment_in_which_it_has_caught_up(make_agent, caplog, was_away):
    caplog.set_level(logging.INFO)
    await was_away("PRIVMSG #general :meanwhile")

    second = make_agent("spark-claude")

    def stop(told: logging.LogRecord) -> bool:
        if "caught up" in told.getMessage():
            second.daemon.stop()
        return True

    caplog.handler.addFilter(stop)
    try:
        async with second.running() as task:
            await asyncio.wait_for(task, 10)
    finally:
        # It serves all tests.
        caplog.handler.removeFilter(stop)
    assert not second.is_ready


async def test_its_own_words_in_history_are_the_answer(ircd, ori, make_agent, eventually):
    first = make_agent("spark-claude")
    async with first.running():
        await eventually(first.is_present)
        ori.send("PRIVMSG #general :@spark-claude one")
        await eventually(lambda: first.states() == ["injected"])
        first.kill()
    await ori.until("QUIT")
    async with connected(ircd.port, "spark-claude", "#general") as itself:
        itself.send("PRIVMSG #general :here you are")
        await ori.until("here you are")

    second = make_agent("spark-claude")
    async with second.running():
        await eventually(second.is_present)
        assert second.states() == ["answered"]
        assert second.prompts == []
        ori.send("PRIVMSG #general :@spark-claude two")
        await eventually(lambda: second.prompts == [f"{MENTION}two"])


async def test_a_channel_that_it_joined_by_itself_is_joined_again(ori, make_agent, eventually):
    ori.send("JOIN #extra,#other")
    first = make_agent("spark-claude")
    async with first.running():
        await eventually(first.is_present)
        for channel in ("#extra", "#other"):
            await first.daemon.handle({"type": "irc_join", "channel": channel})
        await first.daemon.handle({"type": "irc_part", "channel": "#other"})
        first.kill()
    await ori.until("QUIT")
    ori.send("PRIVMSG #extra :@spark-claude one", "PING x")
    await ori.until("PONG")

    second = make_agent("spark-claude")
    async with second.running():
        await eventually(lambda: second.prompts == ["[IRC @mention in #extra] <spark-ori> @spark-claude one"])
        assert sorted(second.channels) == ["#extra", "#general"]


async def test_what_a_full_disk_did_not_take_is_heard_by_the_next_process(
    ori, make_agent, eventually, small_disk
):
    first = make_agent("spark-claude", state=small_disk)
    async with first.running() as running:
        await eventually(first.is_present)
        filler = small_disk / "filler"
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        ori.send(*(f"PRIVMSG #general :@spark-claude {number}" for number in range(40)))
        with pytest.raises(UnavailableError, match="disk is full"):
            async with asyncio.timeout(20):
                await running
        filler.unlink()

    second = make_agent("spark-claude", state=small_disk)
    async with second.running():
        await eventually(lambda: len(second.states()) == 40)


async def test_what_waited_longer_than_it_is_worth_is_not_looked_for(make_agent, eventually, was_away):
    await was_away("PRIVMSG #general :@spark-claude one")

    second = make_agent("spark-claude", limits=TurnsConfig(expiry_s=0))
    async with second.running():
        await eventually(second.is_present)
        assert second.states() == []


async def test_a_long_absence_is_read_page_by_page(make_agent, eventually, monkeypatch, was_away):
    monkeypatch.setattr("culture.agent.inbox.catchup.PAGE_SIZE", 7)
    await was_away(*(f"PRIVMSG #general :line {number}" for number in range(30)))

    second = make_agent("spark-claude")
    async with second.running():
        await eventually(second.is_present)
        assert await read(second, "#general") == [f"line {number}" for number in range(30)]


@pytest.mark.parametrize("ircd", [{"skills": "[]"}], indirect=True)
async def test_a_server_without_history_is_fine(ori, make_agent, eventually):
    agent = make_agent("spark-claude")
    async with agent.running():
        await eventually(agent.is_present)
        ori.send("PRIVMSG #general :@spark-claude one")
        await eventually(lambda: agent.prompts == [f"{MENTION}one"])
