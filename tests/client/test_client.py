"""The client against real servers, most of which know nothing of this project."""

import asyncio

import pytest
from support.person import Person, online

from culture.client.connection import Patience
from culture.client.events import Answered, Joined, Registered, Said
from culture.config.address import TcpAddress
from culture.errors import TemporaryError, UnavailableError


async def test_it_joins_talks_and_listens_on_every_server(any_server, eventually):
    ori, bo = (Person(any_server.address, nick, "#ops") for nick in ("ori", "bo"))
    async with online(ori, bo):
        await eventually(lambda: len(ori.client.members("#ops")) == 2 == len(bo.client.members("#ops")))

        await ori.client.send_message("#ops", "the disk\nis full é")
        await eventually(lambda: "\n".join(bo.said()) == "the disk\nis full é")
        assert sorted(bo.client.members("#ops")) == ["bo", "ori"]

        await bo.client.send_message("ori", "thanks")
        await eventually(lambda: ori.said() == ["thanks"])
        assert ori.heard(Said)[-1].channel is None


async def test_long_text_arrives_whole_in_lines_of_whole_words(any_server, eventually):
    ori, bo = (Person(any_server.address, nick, "#ops") for nick in ("ori", "bo"))
    text = " ".join(f"word{number:04}é" for number in range(150))
    async with online(ori, bo):
        await eventually(lambda: len(ori.client.members("#ops")) == 2)

        lines = (await ori.client.send_message("#ops", text)).lines

        # In one message where the server passes on such, in lines where it does not.
        await eventually(lambda: " ".join(bo.said()) == text)
        assert bo.said() in ([text], lines)
        assert len(lines) > 2


async def test_an_objection_of_the_server_is_raised_where_it_was_said(any_server, eventually):
    ori = Person(any_server.address, "ori")
    async with online(ori):
        await eventually(lambda: ori.client.is_registered)

        with pytest.raises(UnavailableError, match="'nobody'"):
            await ori.client.send_message("nobody", "hello?")


async def test_it_comes_back_with_nick_and_channels_after_the_server_went_away(ngircd, eventually):
    ori = Person(ngircd.address, "ori", "#ops")
    async with online(ori):
        await eventually(lambda: ori.has_joined("#ops"))
        ngircd.kill()
        why = (await eventually(lambda: ori.downs))[0]
        ngircd.start()

        await eventually(lambda: len(ori.heard(Registered)) == 2 and ori.has_joined("#ops"))
        assert isinstance(why, TemporaryError)
        assert ori.client.nick == "ori"


async def test_a_server_that_stops_answering_is_noticed(ngircd, eventually):
    ori = Person(ngircd.address, "ori", patience=Patience(registration_s=0.5, silence_s=0.1, answer_s=0.3))
    async with online(ori):
        await eventually(lambda: ori.client.is_registered)
        ngircd.freeze()
        try:
            why = (await eventually(lambda: ori.downs))[0]
        finally:
            ngircd.thaw()

    assert "has not answered" in str(why)


async def test_a_server_that_answers_pings_is_left_in_peace(ngircd, eventually):
    ori = Person(ngircd.address, "ori", patience=Patience(registration_s=0.5, silence_s=0.1, answer_s=0.5))
    async with online(ori):
        await eventually(lambda: ori.client.is_registered)
        await eventually(lambda: len(ori.heard(Answered)) >= 3)

    assert ori.downs == []


async def test_a_nick_in_use_is_tried_again_later(ngircd, eventually):
    ori, other = Person(ngircd.address, "ori"), Person(ngircd.address, "ori")
    async with online(ori):
        await eventually(lambda: ori.client.is_registered)
        async with online(other):
            why = (await eventually(lambda: other.downs))[0]

    assert "'ori' is in use" in str(why)


async def test_no_server_at_all_is_said_in_words(eventually):
    nobody = Person(TcpAddress("127.0.0.1", 1), "ori")
    async with online(nobody):
        why = (await eventually(lambda: nobody.downs))[0]

    assert str(why) == "cannot connect to 127.0.0.1:1: Connection refused"


async def test_saying_something_without_a_connection_is_an_error_at_once():
    with pytest.raises(TemporaryError, match="not connected"):
        await Person(TcpAddress("127.0.0.1", 1), "ori").client.send_message("#ops", "hello")


async def test_quitting_ends_it_and_others_see_the_reason(ngircd, eventually):
    ori, bo = Person(ngircd.address, "ori", "#ops"), Person(ngircd.address, "bo", "#ops")
    running = asyncio.create_task(ori.client.run())
    async with online(bo):
        await eventually(lambda: len(bo.heard(Joined)) == 2 or len(bo.client.members("#ops")) == 2)
        ori.client.quit("going home")
        async with asyncio.timeout(5):
            await running
        await eventually(lambda: bo.client.members("#ops") == ["bo"])
    assert ori.downs == []
