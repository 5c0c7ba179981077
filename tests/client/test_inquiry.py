"""Asking real servers about channels and people; most of them know nothing of this project."""

import asyncio
import contextlib

import pytest

from culture.client import inquiry
from culture.client.client import Client
from culture.client.registration import Identity
from culture.errors import TemporaryError, UnavailableError, UsageError


def client(address, nick: str, *channels: str) -> Client:
    return Client(address, Identity(nick, "test", f"{nick} by name"), channels, lambda event: None, print)


@contextlib.asynccontextmanager
async def online(*clients: Client):
    tasks = [asyncio.create_task(each.run()) for each in clients]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_who_is_in_a_channel_with_their_rights(any_server, eventually):
    ori, bo = client(any_server.address, "ori", "#ops"), client(any_server.address, "bo")
    async with online(ori, bo):
        await eventually(lambda: "#ops" in ori.channels() and bo.is_registered)
        await bo.join("#ops")

        members = {each.nick: each for each in await inquiry.who(bo, "#ops")}

    assert set(members) == {"ori", "bo"}
    assert (members["ori"].modes, members["bo"].modes) == ("@", "")
    assert members["ori"].real_name == "ori by name"
    assert not members["ori"].is_away


async def test_who_a_nick_is(any_server, eventually):
    ori = client(any_server.address, "ori")
    async with online(ori):
        await eventually(lambda: ori.is_registered)

        (found,) = await inquiry.who(ori, "ori")
        assert found.nick == "ori"
        with pytest.raises(UnavailableError, match="'nobody'"):
            await inquiry.who(ori, "nobody")


async def test_a_topic_is_set_and_told(any_server, eventually):
    ori = client(any_server.address, "ori", "#ops")
    async with online(ori):
        await eventually(lambda: "#ops" in ori.channels())
        assert (await inquiry.topic(ori, "#ops")).text == ""

        await inquiry.set_topic(ori, "#ops", "the disk is full é")

        topic = await inquiry.topic(ori, "#ops")
        assert (topic.text, topic.set_by) == ("the disk is full é", "ori")
        with pytest.raises(UsageError, match="too long"):
            await inquiry.set_topic(ori, "#ops", "x" * 600)


async def test_joining_and_leaving(any_server, eventually):
    ori = client(any_server.address, "ori")
    async with online(ori):
        await eventually(lambda: ori.is_registered)

        await ori.join("#ops")
        assert ori.channels() == ["#ops"]
        await ori.part("#ops", "enough")
        assert ori.channels() == []
        with pytest.raises(UnavailableError, match="'#ops'"):
            await ori.part("#ops")


async def test_a_channel_that_is_closed_says_so(any_server, eventually):
    ori, bo = client(any_server.address, "ori", "#ops"), client(any_server.address, "bo")
    async with online(ori, bo):
        await eventually(lambda: "#ops" in ori.channels() and bo.is_registered)
        await ori.ask("MODE", "#ops", "+i")

        with pytest.raises(UnavailableError, match=r"'#ops': Cannot join channel"):
            await bo.join("#ops")


async def test_a_channel_that_was_joined_is_joined_again_after_a_loss(ngircd, eventually):
    ori = client(ngircd.address, "ori", "#ops")
    async with online(ori):
        await eventually(lambda: "#ops" in ori.channels())
        await ori.join("#more")
        await ori.part("#ops")
        ngircd.kill()
        await eventually(lambda: not ori.is_registered)
        ngircd.start()

        await eventually(lambda: ori.channels() == ["#more"])


async def test_a_server_without_history_says_so(ngircd, eventually):
    ori = client(ngircd.address, "ori", "#ops")
    async with online(ori):
        await eventually(lambda: "#ops" in ori.channels())

        with pytest.raises(UnavailableError, match="no history"):
            await inquiry.recent(ori, "#ops", 10)
        with pytest.raises(UnavailableError, match="no history"):
            await inquiry.search(ori, "#ops", "disk")


@pytest.mark.parametrize("any_server", ["culture-ircd"], indirect=True)
async def test_history_is_read_and_searched(any_server, eventually):
    ori, bo = client(any_server.address, "ori", "#ops"), client(any_server.address, "bo", "#ops")
    async with online(ori, bo):
        await eventually(lambda: "#ops" in ori.channels() and "#ops" in bo.channels())
        await ori.send_message("#ops", "the disk is full")
        await bo.send_message("#ops", "one\ntwo")

        recent = await inquiry.recent(bo, "#ops", 10)
        found = await inquiry.search(bo, "*", "disk")
        with pytest.raises(UnavailableError, match="could not be retrieved"):
            await inquiry.recent(bo, "#nowhere", 10)

    assert [(each.nick, each.text) for each in recent] == [("ori", "the disk is full"), ("bo", "one\ntwo")]
    assert [(each.target, each.nick, each.text) for each in found] == [("#ops", "ori", "the disk is full")]
    assert recent[0].time == found[0].time


async def test_two_questions_at_once_get_their_own_answers(any_server, eventually):
    ori = client(any_server.address, "ori", "#ops", "#more")
    async with online(ori):
        await eventually(lambda: len(ori.channels()) == 2)
        await inquiry.set_topic(ori, "#ops", "one")
        await inquiry.set_topic(ori, "#more", "two")

        topics = await asyncio.gather(inquiry.topic(ori, "#ops"), inquiry.topic(ori, "#more"))

    assert [topic.text for topic in topics] == ["one", "two"]


async def test_a_question_whose_server_goes_away_is_to_be_asked_again(ngircd, eventually):
    ori = client(ngircd.address, "ori", "#ops")
    async with online(ori):
        await eventually(lambda: "#ops" in ori.channels())
        ngircd.freeze()
        asked = asyncio.create_task(inquiry.who(ori, "#ops"))
        await asyncio.sleep(0)
        ngircd.kill()

        with pytest.raises(TemporaryError, match="connection was lost"):
            await asked
