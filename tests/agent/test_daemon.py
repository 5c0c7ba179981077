"""The daemon between a real server and a backend that is run by hand."""

import asyncio
import json
import logging
import re

import pytest
from support.irc import connected

from culture.config.address import TcpAddress
from culture.errors import NotAllowedError, TemporaryError


async def request(agent, **values) -> dict:
    """What the agent's socket answers."""
    reader, writer = await asyncio.open_unix_connection(str(agent.socket))
    writer.write(json.dumps({"id": "7", **values}).encode() + b"\n")
    async with asyncio.timeout(10):
        answer = json.loads(await reader.readline())
    writer.close()
    await writer.wait_closed()
    return answer


async def test_a_mention_becomes_a_prompt(ircd, agent, eventually):
    async with connected(ircd.port, "spark-ori", "#general") as ori:
        ori.send("PRIVMSG #general :nobody in particular", "PRIVMSG #general :@spark-claude the disk?")

        await eventually(lambda: agent.runner.prompts)

    assert agent.runner.prompts == ["[IRC @mention in #general] <spark-ori> @spark-claude the disk?"]


async def test_a_direct_message_becomes_a_prompt(ircd, agent, eventually):
    async with connected(ircd.port, "spark-ori") as ori:
        ori.send("PRIVMSG spark-claude :psst")

        await eventually(lambda: agent.runner.prompts == ["[IRC DM] <spark-ori> psst"])


async def test_a_second_question_waits_for_the_first(ircd, agent, eventually):
    async with connected(ircd.port, "spark-ori", "#general") as ori:
        ori.send("PRIVMSG #general :@spark-claude one", "PRIVMSG #general :@spark-claude two")
        await eventually(lambda: agent.statuses[-1].endswith("1 waiting"))
        assert len(agent.runner.prompts) == 1

        await agent.runner.ends_turn()

        await eventually(lambda: len(agent.runner.prompts) == 2)


async def test_what_the_backend_does_unasked_ends_no_turn(ircd, agent, eventually):
    async with connected(ircd.port, "spark-ori", "#general") as ori:
        ori.send("PRIVMSG #general :@spark-claude one")
        await eventually(lambda: agent.runner.prompts)

        await agent.runner.ends_turn(asked=False)

        assert agent.daemon.status().startswith("turn ")


async def test_a_failed_turn_is_told_once_where_it_was_asked(ircd, agent, eventually):
    async with connected(ircd.port, "spark-ori", "#general") as ori:
        ori.send("PRIVMSG #general :@spark-claude one")
        await eventually(lambda: agent.runner.prompts)
        await agent.runner.ends_turn("the model is overloaded (status 529)")
        told = await ori.until("NOTICE #general")
        ori.send("PING done")
        await ori.until("PONG")

    assert re.search(r":spark-ori: turn [0-9a-f]{4} failed: the model is overloaded \(status 529\)$", told)
    assert sum("failed" in line for line in ori.seen) == 1


async def test_a_dead_backend_ends_the_daemon_and_nobody_waits_in_vain(ircd, make_agent, eventually):
    agent = make_agent("spark-claude")
    async with connected(ircd.port, "spark-ori", "#general") as ori, agent.running() as running:
        await ori.until("JOIN #general")
        ori.send("PRIVMSG #general :@spark-claude one", "PRIVMSG spark-claude :two")
        await eventually(lambda: agent.runner.prompts and agent.statuses[-1].endswith("1 waiting"))

        await agent.runner.ends_turn("the claude program was killed by signal 9")
        await agent.runner.on_exit(-9)

        assert "failed: the claude program was killed by signal 9" in await ori.until("NOTICE #general")
        assert "claude ended with status -9" in await ori.until("NOTICE spark-ori")
        with pytest.raises(TemporaryError, match="claude ended with status -9"):
            await running


async def test_stopping_tells_whoever_is_being_answered_and_says_goodbye(ircd, make_agent, eventually):
    agent = make_agent("spark-claude")
    async with connected(ircd.port, "spark-ori", "#general") as ori:
        async with agent.running():
            await ori.until("JOIN #general")
            ori.send("PRIVMSG #general :@spark-claude one")
            await eventually(lambda: agent.runner.prompts)
        assert "the agent is being stopped" in await ori.until("NOTICE #general")
        assert "stopping" in await ori.until("QUIT")
    assert not agent.runner.is_running()


async def test_the_skill_speaks_and_reads(ircd, agent, eventually):
    async with connected(ircd.port, "spark-ori", "#general") as ori:
        ori.send("PRIVMSG #general :@spark-claude one", "PRIVMSG #general :two")
        await eventually(lambda: agent.runner.prompts)

        sent = await request(agent, type="irc_send", channel="#general", message="three\nfour")
        assert sent == {"type": "response", "id": "7", "ok": True, "data": {"lines": 2}}
        assert (await ori.until("PRIVMSG")).endswith("PRIVMSG #general :three")
        assert (await ori.until("PRIVMSG")).endswith("PRIVMSG #general :four")

        read = await request(agent, type="irc_read", channel="#general", limit=3)
        lines = [(line["nick"], line["text"]) for line in read["data"]["lines"]]
        assert lines == [
            ("spark-ori", "@spark-claude one"),
            ("spark-ori", "two"),
            ("spark-claude", "three"),
        ]
        assert read["data"]["left"] == 1

        await agent.runner.ends_turn()
        assert "1 turn, last answered in" in (await request(agent, type="status"))["data"]["status"]
        assert (await request(agent, type="whoami"))["data"] == {
            "nick": "spark-claude",
            "server": str(ircd),
            "channels": ["#general"],
            "connected": True,
        }


async def test_what_is_read_cannot_play_tricks_on_a_terminal(ircd, agent, eventually):
    async with connected(ircd.port, "spark-ori", "#general") as ori:
        ori.send("PRIVMSG #general :\x1b[2Jgone\x02 @spark-claude", "PRIVMSG #general :\x01ACTION waves\x01")
        ori.send("PING x")
        await ori.until("PONG")
        await eventually(lambda: agent.runner.prompts)
        read = await request(agent, type="irc_read", channel="#general")

    assert [line["text"] for line in read["data"]["lines"]] == ["[2Jgone @spark-claude", "/me waves"]


async def test_half_a_character_is_replaced_and_the_rest_is_said(ircd, agent):
    async with connected(ircd.port, "spark-ori", "#general") as ori:
        await request(agent, type="irc_send", channel="#general", message="caf\udce9!")

        assert (await ori.until("PRIVMSG")).endswith(":caf?!")


@pytest.mark.parametrize(
    ("asked", "status", "error"),
    [
        ({"type": "irc_sing"}, 64, "unknown command 'irc_sing'"),
        ({"type": ["irc_send"]}, 64, "unknown command"),
        ({}, 64, "unknown command 'None'"),
        ({"type": "irc_send", "channel": "#general"}, 64, "'message' must be text"),
        ({"type": "irc_send", "channel": 1, "message": "x"}, 64, "'channel' must be text"),
        ({"type": "irc_send", "channel": "#general", "message": " \n"}, 64, "no text to send"),
        ({"type": "irc_send", "channel": "#a\r\nQUIT", "message": "x"}, 64, "neither a channel nor a nick"),
        ({"type": "irc_send", "channel": "#a,#b", "message": "x"}, 64, "neither a channel nor a nick"),
        ({"type": "irc_send", "channel": "spark-nobody", "message": "x"}, 69, "'spark-nobody': No such nick"),
        ({"type": "irc_read", "channel": "#general", "limit": True}, 64, "'limit' must be a whole number"),
        ({"type": "irc_read", "channel": "#general", "limit": -1}, 64, "must be at least 1"),
    ],
)
async def test_a_wrong_request_is_answered_in_words(agent, asked, status, error):
    answer = await request(agent, **asked)

    assert (answer["ok"], answer["id"], answer["exit_status"]) == (False, "7", status)
    assert error in answer["error"]


async def test_the_journal_tells_the_story_of_a_turn_without_its_text(ircd, agent, eventually, caplog):
    caplog.set_level(logging.INFO)
    async with connected(ircd.port, "spark-ori", "#general") as ori:
        ori.send("PRIVMSG #general :@spark-claude my secret plan")
        await eventually(lambda: agent.runner.prompts)
        await request(agent, type="irc_send", channel="#general", message="a secret answer")
        await agent.runner.ends_turn()

    began, ended = (record.__dict__ for record in caplog.records if hasattr(record, "CULTURE_TURN"))
    assert began["CULTURE_TURN"] == ended["CULTURE_TURN"]
    assert began["MESSAGE_ID"] != ended["MESSAGE_ID"]
    assert (began["CULTURE_NICK"], began["CULTURE_CHANNEL"], began["CULTURE_PEER"]) == (
        "spark-claude",
        "#general",
        "spark-ori",
    )
    assert (ended["CULTURE_OUTCOME"], ended["CULTURE_COST_USD"]) == ("answered", "0.010000")
    assert int(ended["CULTURE_DURATION_MS"]) >= 0
    assert "secret" not in caplog.text


async def test_a_nick_that_the_server_refuses_ends_the_daemon(make_agent):
    agent = make_agent("thor-claude")
    async with agent.running() as running:
        with pytest.raises(NotAllowedError, match="does not take the nick 'thor-claude'"):
            async with asyncio.timeout(10):
                await running


async def test_without_a_server_it_says_so_and_goes_on_trying(make_agent, eventually):
    agent = make_agent("spark-claude", TcpAddress("127.0.0.1", 1))
    async with agent.running():
        status = await eventually(lambda: agent.statuses[1:] and agent.statuses[-1])
        assert status == (
            "not connected: cannot connect to 127.0.0.1:1: Connection refused; trying again in 1 s"
        )
        assert agent.daemon.is_alive
        assert not agent.is_ready
