"""The transport on real servers: ours, and two that know nothing of history or relaying."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support.irc import connected
from support.servers import Server

from culture.client.registration import Identity
from culture.client.transport.irc import IrcTransport
from culture.client.transport.network import Network
from culture.client.transport.transport import Message, Transport
from culture.errors import CultureError, UsageError
from culture.store.channel_log import ChannelLog

WITHIN_S = 20.0


def identity(nick: str) -> Identity:
    return Identity(nick, nick[:8], nick)


@contextlib.asynccontextmanager
async def transport(
    server: Server, place: Path, on_message: Callable[[Message], None] = lambda message: None
) -> AsyncIterator[IrcTransport]:
    log = ChannelLog(place / "channels.db")
    made = IrcTransport(
        Network(server.address),
        identity("bridge"),
        ["#project"],
        log,
        identity_of=identity,
        wall_clock=time.time,
        on_message=on_message,
    )
    as_transport: Transport = made
    assert as_transport is made
    running = asyncio.create_task(made.run())
    try:
        yield made
    finally:
        made.quit("done")
        async with asyncio.timeout(WITHIN_S):
            await running
        log.close()


def name_of(sender: str) -> str:
    """The sender, without what says that it was relayed."""
    return sender.removesuffix("/mcp")


async def read_until(text: str, bridge: IrcTransport, channel: str) -> list[Message]:
    """Read until the newest message is this one: another client sent it, so it may be on its way."""
    async with asyncio.timeout(WITHIN_S):
        while True:
            found = await bridge.read(channel)
            if found and found[0].text == text:
                return found
            await asyncio.sleep(0.02)


async def test_a_text_is_sent_under_the_name_of_its_sender_and_read_by_all(
    any_server: Server, tmp_path: Path
):
    async with transport(any_server, tmp_path) as bridge, connected(any_server.address.port, "ori") as ori:
        await bridge.create_channel("#project")
        ori.send("JOIN #project")
        await ori.until(" 366 ori #project ")

        await bridge.send("#project", "the disk is full é", "harper")
        line = await ori.until(":the disk is full é")
        assert (
            name_of(line.rpartition(" PRIVMSG #project ")[0].partition(":")[2].partition("!")[0]) == "harper"
        )

        ori.send("PRIVMSG #project :thanks")
        found = await read_until("thanks", bridge, "#project")
        assert [(name_of(each.sender), each.text) for each in found] == [
            ("ori", "thanks"),
            ("harper", "the disk is full é"),
        ]
        assert {each.channel for each in found} == {"#project"}


async def test_it_works_across_a_network_of_two_servers(
    linked_servers: tuple[Server, Server], tmp_path: Path
):
    first, second = linked_servers
    async with connected(second.address.port, "ori", "#project") as ori, transport(first, tmp_path) as bridge:
        await bridge.create_channel("#project")
        # The channel is one as soon as the servers have linked.
        await ori.until(" JOIN :#project")
        await bridge.send("#project", "are you there?", "harper")
        assert ":harper!" in await ori.until(":are you there?")
        ori.send("PRIVMSG #project :on the other server")
        found = await read_until("on the other server", bridge, "#project")
        assert [each.sender for each in found] == ["ori", "harper"]
        assert {"ori", "bridge"} <= set(await bridge.get_members("#project"))


async def test_reading_is_newest_first_limited_and_since_a_time(any_server: Server, tmp_path: Path):
    async with transport(any_server, tmp_path) as bridge:
        for number in range(4):
            await bridge.send("#project", f"number {number}", "bridge")

        newest = await bridge.read("#project", limit=2)
        assert [each.text for each in newest] == ["number 3", "number 2"]
        everything = await bridge.read("#project")
        assert [each.text for each in everything] == [f"number {n}" for n in (3, 2, 1, 0)]
        assert all(each.timestamp.tzinfo is not None for each in everything)
        assert await bridge.read("#project", since=datetime.now(UTC) + timedelta(minutes=5)) == []
        since = everything[-1].timestamp - timedelta(seconds=1)
        assert len(await bridge.read("#project", since=since)) == 4
        assert await bridge.read("#project", since=everything[0].timestamp) == []


async def test_what_was_read_once_can_be_read_after_a_restart_of_the_program(
    any_server: Server, tmp_path: Path
):
    async with connected(any_server.address.port, "ori", "#project", "#other") as ori:
        async with transport(any_server, tmp_path) as bridge:
            await bridge.create_channel("#other")
            ori.send("PRIVMSG #other :remember this")
            await read_until("remember this", bridge, "#other")

        async with transport(any_server, tmp_path) as bridge:
            assert [each.text for each in await bridge.read("#other")] == ["remember this"]
            # It came back by itself.
            assert sorted(await bridge.get_members("#other")) == ["bridge", "ori"]


async def test_channels_and_members_are_listed(any_server: Server, tmp_path: Path):
    async with (
        transport(any_server, tmp_path) as bridge,
        connected(any_server.address.port, "ori", "#elsewhere"),
    ):
        await bridge.create_channel("#work-42")

        assert {"#work-42", "#elsewhere"} <= set(await bridge.list_channels())
        assert await bridge.get_members("#work-42") == ["bridge"]
        assert await bridge.get_members("#elsewhere") == ["ori"]


async def test_long_text_arrives_whole(any_server: Server, tmp_path: Path):
    text = "\n".join(f"{number}: " + "word " * 120 for number in range(2)).strip()
    async with (
        transport(any_server, tmp_path) as bridge,
        connected(any_server.address.port, "ori", "#project", caps="") as ori,
    ):
        await bridge.send("#project", text, "harper")
        heard: list[str] = []
        while " ".join(heard).split() != text.split():
            line = await ori.read()
            assert line, heard
            if " PRIVMSG #project :" in line:
                heard.append(line.partition(" PRIVMSG #project :")[2])


async def test_messages_are_passed_on_as_they_come(any_server: Server, tmp_path: Path, eventually):
    heard: list[Message] = []
    async with (
        transport(any_server, tmp_path, heard.append) as bridge,
        connected(any_server.address.port, "ori", "#project") as ori,
    ):
        await bridge.create_channel("#project")
        ori.send("PRIVMSG #project :TASK: look at the disk")
        await eventually(lambda: heard, WITHIN_S)
        assert (heard[0].sender, heard[0].text) == ("ori", "TASK: look at the disk")


HOSTILE_CHANNELS = [
    "",
    "#",
    "ops",
    "#a b",
    "#a,#b",
    "#a\r\nQUIT",
    "#a\nQUIT :x",
    "#a\0",
    "#a:b",
    "@#ops",
    "#" * 65,
]
HOSTILE_CHANNELS += ["#a\x07", "&local", "ori", "#\ud800"]


@pytest.mark.parametrize("channel", HOSTILE_CHANNELS)
async def test_a_hostile_channel_name_never_reaches_the_server(ngircd: Server, tmp_path: Path, channel: str):
    async with transport(ngircd, tmp_path) as bridge:
        attempts = [
            bridge.send(channel, "x", "harper"),
            bridge.read(channel),
            bridge.create_channel(channel),
            bridge.get_members(channel),
        ]
        for attempt in attempts:
            with pytest.raises(UsageError, match="is not the name of a channel"):
                await attempt


async def test_line_ends_in_a_text_begin_no_other_command(any_server: Server, tmp_path: Path):
    async with transport(any_server, tmp_path) as bridge:
        await bridge.send("#project", "hello\r\nQUIT :gone\nJOIN #secret\0\x01VERSION\x01", "harper")

        said = "\n".join(each.text for each in reversed(await bridge.read("#project")))
        assert said == "hello\nQUIT :gone\nJOIN #secretVERSION"
        assert "#secret" not in await bridge.list_channels()


@pytest.mark.parametrize("text", ["", " \n", "\0\x01", "\ud800", "x" * 70_000])
async def test_a_text_that_cannot_be_sent_is_refused(ngircd: Server, tmp_path: Path, text: str):
    async with transport(ngircd, tmp_path) as bridge:
        with pytest.raises(UsageError):
            await bridge.send("#project", text, "harper")


@pytest.mark.parametrize("limit", [0, -1, 501])
async def test_a_limit_beyond_what_can_be_read_is_refused(ngircd: Server, tmp_path: Path, limit: int):
    async with transport(ngircd, tmp_path) as bridge:
        with pytest.raises(UsageError, match="'limit' must be 1 to 500"):
            await bridge.read("#project", limit=limit)


async def test_a_nick_that_somebody_has_is_told(ngircd: Server, tmp_path: Path):
    async with transport(ngircd, tmp_path) as bridge, connected(ngircd.address.port, "ori"):
        with pytest.raises(CultureError, match="cannot speak as 'ori'"):
            await bridge.send("#project", "I am somebody else", "ori")
        await bridge.send("#project", "I am myself", "harper")


async def test_it_reads_on_after_the_server_went_away(ngircd: Server, tmp_path: Path, eventually):
    async with transport(ngircd, tmp_path) as bridge:
        await bridge.send("#project", "before", "bridge")
        ngircd.kill()
        await eventually(lambda: not bridge.is_connected, WITHIN_S)
        ngircd.start()

        assert [each.text for each in await bridge.read("#project")] == ["before"]
