"""The daemon between a real server and a backend that is run by hand."""

import asyncio
import json
import logging

import pytest
from support.cable import cable
from support.irc import connected

from culture.config.address import TcpAddress
from culture.errors import NotAllowedError


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

        await eventually(lambda: agent.prompts)

    assert agent.prompts == ["[IRC @mention in #general] <spark-ori> @spark-claude the disk?"]


async def test_a_direct_message_becomes_a_prompt(ircd, agent, eventually):
    async with connected(ircd.port, "spark-ori") as ori:
        ori.send("PRIVMSG spark-claude :psst")

        await eventually(lambda: agent.prompts == ["[IRC DM] <spark-ori> psst"])


async def test_a_second_question_waits_for_the_first(ircd, agent, eventually):
    async with connected(ircd.port, "spark-ori", "#general") as ori:
        ori.send("PRIVMSG #general :@spark-claude one")
        await eventually(lambda: agent.prompts)
        ori.send("PRIVMSG spark-claude :two", "PRIVMSG #general :@spark-claude three")
        await eventually(lambda: agent.statuses[-1].endswith("2 waiting"))
        assert len(agent.prompts) == 1
        assert agent.states() == ["injected", "queued", "queued"]

        await agent.runner.ends_turn()
        await eventually(lambda: len(agent.prompts) == 2)
        assert agent.states() == ["silent", "injected", "queued"]

        await agent.runner.ends_turn()
        await eventually(lambda: len(agent.prompts) == 3)


async def test_what_was_said_in_one_channel_meanwhile_becomes_one_prompt(ircd, agent, eventually):
    async with (
        connected(ircd.port, "spark-ori", "#general") as ori,
        connected(ircd.port, "spark-bo", "#general") as bo,
    ):
        ori.send("PRIVMSG #general :@spark-claude one")
        await eventually(lambda: agent.prompts)
        ori.send("PRIVMSG #general :@spark-claude two")
        await bo.until("two")
        bo.send("PRIVMSG #general :@spark-claude three")
        await eventually(lambda: agent.states().count("queued") == 2)
        await agent.runner.ends_turn()
        await eventually(lambda: len(agent.prompts) == 2)

    assert agent.prompts[1] == (
        "[IRC @mention in #general] <spark-ori> @spark-claude two\n"
        "[IRC @mention in #general] <spark-bo> @spark-claude three"
    )


async def test_what_the_backend_does_unasked_ends_no_turn(ircd, agent, eventually):
    async with connected(ircd.port, "spark-ori", "#general") as ori:
        ori.send("PRIVMSG #general :@spark-claude one")
        await eventually(lambda: agent.prompts)

        await agent.runner.ends_turn(asked=False)

        assert agent.daemon.operations.status().startswith("turn ")


async def test_the_skill_speaks_and_reads(ircd, agent, eventually):
    async with connected(ircd.port, "spark-ori", "#general") as ori:
        ori.send("PRIVMSG #general :@spark-claude one", "PRIVMSG #general :two")
        await eventually(lambda: agent.prompts)

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
        whoami = (await request(agent, type="whoami"))["data"]
        assert (whoami["nick"], whoami["server"], whoami["channels"]) == (
            "spark-claude",
            str(ircd),
            ["#general"],
        )


async def test_what_is_read_cannot_play_tricks_on_a_terminal(ircd, agent, eventually):
    async with connected(ircd.port, "spark-ori", "#general") as ori:
        ori.send("PRIVMSG #general :\x1b[2Jgone\x02 @spark-claude", "PRIVMSG #general :\x01ACTION waves\x01")
        ori.send("PING x")
        await ori.until("PONG")
        await eventually(lambda: agent.prompts)
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
        ({"type": "irc_read", "channel": "#general", "limit": -1}, 64, "must be 1 to 1000"),
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
        await eventually(lambda: agent.prompts)
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
        with pytest.raises(NotAllowedError, match="does not take the nick 'thor-claude'") as refused:
            async with asyncio.timeout(10):
                await running
    assert agent.statuses[-1].startswith("ending: ")
    assert "does not take the nick 'thor-claude'" in agent.statuses[-1]
    assert refused.value.hint == (
        "was host 'thor' renamed to 'spark'? Set 'name: thor' in ircd.yaml to keep the old name, "
        "or call the agent 'spark-claude' in agents.yaml"
    )


async def test_without_a_server_it_says_so_and_goes_on_trying(make_agent, eventually):
    agent = make_agent("spark-claude", TcpAddress("127.0.0.1", 1))
    async with agent.running():
        status = await eventually(lambda: agent.statuses[1:] and agent.statuses[-1])
        assert status == (
            "not connected: cannot connect to 127.0.0.1:1: Connection refused; trying again in 1 s"
        )
        assert agent.daemon.is_alive
        assert not agent.is_ready


async def test_whoever_waits_until_it_is_ready_does_not_wait_for_ever_for_a_server(
    ircd, make_agent, eventually
):
    async with cable(ircd.port) as wire:
        address = TcpAddress("127.0.0.1", wire.port)
        agent = make_agent("spark-claude", address)
        agent.patience_s = 0.01
        wire.carries_up = False
        async with agent.running():
            await eventually(lambda: agent.is_ready)
            assert (agent.daemon.operations.status(), agent.runners) == (f"connecting to {address}", [])
            assert (await request(agent, type="status"))["data"]["screen"]["connected"] is False

            wire.cut()
            await eventually(lambda: agent.daemon.operations.status().startswith("not connected: "))
            await eventually(lambda: agent.statuses[-1] == f"idle in #general on {address}")
            assert len(agent.runners) == 1


async def test_one_that_is_resumed_before_it_is_on_irc_gets_one_backend(ircd, make_agent, eventually):
    async with cable(ircd.port) as wire:
        agent = make_agent("spark-claude", TcpAddress("127.0.0.1", wire.port))
        agent.patience_s = 0.01
        wire.carries_up = False
        async with agent.running():
            await eventually(lambda: agent.is_ready)
            await request(agent, type="pause", why="by hand")
            assert (await request(agent, type="resume"))["ok"]
            wire.cut()
            async with connected(ircd.port, "spark-ori", "#general") as ori:
                await eventually(lambda: "#general" in agent.channels)
                ori.send("PRIVMSG #general :@spark-claude hello")
                await eventually(lambda: agent.prompts)
            assert len(agent.runners) == 1
