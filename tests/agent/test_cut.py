"""The connection to the server is cut at the worst moments: nothing is lost, and nothing is said twice."""

import asyncio

import pytest
from support.cable import cable
from support.irc import connected
from support.manager import managed

from culture.config.address import TcpAddress


class Scene:
    def __init__(self, agent, ori, wire, eventually) -> None:
        self.agent, self.ori, self.wire, self.eventually = agent, ori, wire, eventually

    async def asked(self, text: str) -> None:
        so_far = len(self.agent.prompts)
        self.ori.send(f"PRIVMSG #general :@spark-claude {text}")
        await self.eventually(lambda: len(self.agent.prompts) > so_far)

    def speaks(self, text: str) -> asyncio.Task:
        request = {"type": "irc_send", "channel": "#general", "message": text}
        return asyncio.create_task(self.agent.daemon.handle(request))

    async def heard(self) -> list[str]:
        """All that a person read of the agent until now."""
        self.ori.send("PING now")
        await self.ori.until("PONG")
        said = [line for line in self.ori.seen if line.startswith(":spark-claude!") and "PRIVMSG" in line]
        return [line.rpartition(" :")[2] for line in said]


@pytest.fixture
async def scene(ircd, make_agent, eventually):
    async with cable(ircd.port) as wire, connected(ircd.port, "spark-ori", "#general") as ori:
        agent = make_agent("spark-claude", TcpAddress("127.0.0.1", wire.port))
        async with agent.running():
            await eventually(agent.is_present)
            yield Scene(agent, ori, wire, eventually)


async def test_what_is_said_while_it_is_cut_off_is_answered_once(scene):
    scene.wire.cut()
    await scene.ori.until("QUIT")

    await scene.asked("one")

    assert scene.agent.prompts == ["[IRC @mention in #general] <spark-ori> @spark-claude one"]
    assert scene.agent.states() == ["injected"]


async def test_a_question_that_was_on_its_way_is_answered_once(scene):
    scene.wire.carries_down = False
    scene.ori.send("PRIVMSG #general :@spark-claude one", "PING x")
    await scene.ori.until("PONG")
    scene.wire.cut()

    await scene.eventually(lambda: scene.agent.prompts)
    assert scene.agent.states() == ["injected"]


async def test_an_answer_of_which_only_the_receipt_was_lost_is_not_said_again(scene):
    await scene.asked("one")
    scene.wire.carries_down = False
    speaking = scene.speaks("here you are")
    await scene.ori.until("here you are")

    scene.wire.cut()

    assert (await speaking)["lines"] == 1
    assert await scene.heard() == ["here you are"]
    assert scene.agent.states() == ["answered"]


async def test_an_answer_that_did_not_arrive_is_said_again(scene):
    await scene.asked("one")
    scene.wire.carries_up = False
    speaking = scene.speaks("here you are")
    await asyncio.sleep(0)

    scene.wire.cut()

    assert (await speaking)["lines"] == 1
    assert await scene.heard() == ["here you are"]
    assert scene.agent.states() == ["answered"]


@pytest.mark.parametrize("ircd", [{"limits": "{multiline_lines: 2}"}], indirect=True)
@pytest.mark.parametrize("lost", ["stops_down_at", "stops_up_at"], ids=["receipt", "message"])
async def test_a_text_of_several_messages_goes_on_with_the_one_that_was_cut(scene, lost):
    await scene.asked("one")
    setattr(scene.wire, lost, b"three")
    speaking = scene.speaks("one\ntwo\nthree\nfour\nfive\nsix")
    await scene.eventually(lambda: not scene.wire.carries)

    scene.wire.cut()

    assert (await speaking)["lines"] == 6
    assert await scene.heard() == ["one", "two", "three", "four", "five", "six"]
    assert scene.agent.states() == ["answered"]


async def test_a_server_that_falls_silent_is_left_and_the_answer_is_said_again(scene, monkeypatch):
    monkeypatch.setattr("culture.client.client.ANSWER_TIMEOUT_S", 0.2)
    await scene.asked("one")
    scene.wire.carries_up = scene.wire.carries_down = False
    speaking = scene.speaks("here you are")
    await scene.eventually(lambda: scene.wire.swallowed.count(b"here you are"))
    await scene.eventually(lambda: not scene.agent.channels)

    scene.wire.cut()

    assert (await speaking)["lines"] == 1
    assert await scene.heard() == ["here you are"]
    assert scene.agent.states() == ["answered"]


async def test_who_speaks_without_a_connection_waits_for_it(scene):
    await scene.asked("one")
    scene.wire.cut()
    await scene.ori.until("QUIT")

    assert (await scene.speaks("here you are"))["lines"] == 1

    assert await scene.heard() == ["here you are"]
    assert scene.agent.states() == ["answered"]
    await scene.agent.runner.ends_turn()
    await scene.asked("two")


async def test_a_backend_that_died_as_it_spoke_is_not_asked_again(scene):
    await scene.asked("one")
    scene.wire.carries_down = False
    speaking = scene.speaks("here you are")
    await scene.ori.until("here you are")

    scene.wire.cut()
    await scene.eventually(lambda: scene.agent.statuses[-1].startswith("not connected"))
    # As its socket does it when nobody waits for the answer any more.
    speaking.cancel()
    await scene.agent.runner.dies()

    await scene.eventually(lambda: scene.agent.states() == ["answered"])
    await scene.asked("two")
    assert [prompt.rpartition(" ")[2] for prompt in scene.agent.prompts] == ["one", "two"]


async def test_no_turn_begins_without_a_connection(scene):
    await scene.asked("one")
    scene.ori.send("PRIVMSG #general :@spark-claude two")
    await scene.eventually(lambda: scene.agent.states() == ["injected", "queued"])
    await scene.wire.close()
    await scene.ori.until("QUIT")

    await scene.agent.runner.ends_turn()

    await scene.eventually(lambda: "; 1 waiting" in scene.agent.statuses[-1])
    assert scene.agent.states() == ["silent", "queued"]


@pytest.mark.parametrize("room", [100, 0], ids=["sockets are kept", "sockets are lost"])
async def test_the_server_is_killed_in_the_middle_of_a_turn(home, make_agent, eventually, room):
    async with managed(home, room=room) as server:
        agent = make_agent("spark-claude", TcpAddress("127.0.0.1", server.port()))
        async with agent.running(), connected(server.port(), "spark-ori", "#general") as ori:
            await eventually(agent.is_present)
            ori.send("PRIVMSG #general :@spark-claude one", "PRIVMSG spark-claude :two")
            await eventually(lambda: agent.states() == ["injected", "queued"])

            await server.crash()
            request = {"type": "irc_send", "channel": "#general", "message": "here you are"}
            assert (await agent.daemon.handle(request))["lines"] == 1
            await agent.runner.ends_turn()
            await eventually(lambda: agent.prompts[1:] == ["[IRC DM] <spark-ori> two"])
            assert agent.states() == ["answered", "injected"]

        async with connected(server.port(), "spark-bo", "#general") as bo:
            bo.send("HISTORY RECENT #general")
            await bo.until("HISTORYEND")
            assert sum("here you are" in line for line in bo.seen) == 1
