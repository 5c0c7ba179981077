"""What a server writes down of its clients while it runs, and what it does when it cannot."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from support.irc import Plain, connected
from support.network import Clock, Network

from culture.config.links import LinkConfig
from culture.ircd.events import Joined
from culture.ircd.model.channel import Channel, Flag
from culture.ircd.replication.host_adapter import MeshHost
from culture.ircd.replication.remote_users import add_remote_user, host_returned, remove_remote_user
from culture.ircd.replication.snapshot_lines import SnapshotUser
from culture.ircd.server import Ircd
from culture.net.driver import Driver
from culture.net.listen.listeners import address_of, listening
from culture.net.restart.session_file import ROOM_BYTES, read_kept
from culture.net.restart.session_keeper import SessionKeeper
from culture.net.restart.session_restore import restore
from culture.systemd.fdstore import FdStore


class Server:
    def __init__(self, driver: Driver, keeper: SessionKeeper, port: int, clock: Clock) -> None:
        self.driver, self.keeper, self.port, self.clock = driver, keeper, port, clock

    def kept(self, kind: str) -> list[Any]:
        kept = read_kept(self.keeper.path)
        return list(kept.of(kind).values()) if kept is not None else []

    def sessions(self) -> list[dict[str, object]]:
        return self.kept("session")


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    """It keeps what it knows in a directory that is not there yet."""
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager,
        listening(["127.0.0.1:0"], []) as listeners,
    ):
        manager.bind(str(tmp_path / "notify"))
        network = Network()
        store = FdStore({"NOTIFY_SOCKET": str(tmp_path / "notify"), "FDSTORE": "10"})
        keeper = SessionKeeper(network.ircd, store, tmp_path / "run")
        driver = Driver(network.ircd, keeper=keeper)
        driver.serve(listeners)
        yield Server(driver, keeper, address_of(listeners[0]).port, network.clock)
        await driver.stop()


async def test_what_is_known_is_written_before_anybody_is_told(server: Server, tmp_path: Path):
    (tmp_path / "run").mkdir()
    async with (
        connected(server.port, "spark-ori", "#a") as ori,
        connected(server.port, "spark-bo", "#a") as bo,
    ):
        assert [each["nick"] for each in server.sessions()] == ["spark-ori", "spark-bo"]
        bo.send("NICK spark-kit")
        await ori.until(" NICK ")
        assert [each["nick"] for each in server.sessions()] == ["spark-ori", "spark-kit"]
        bo.send("QUIT")
        await ori.until(" QUIT ")
        assert [each["nick"] for each in server.sessions()] == ["spark-ori"]


async def test_what_is_only_said_is_not_written(server: Server, tmp_path: Path):
    (tmp_path / "run").mkdir()
    async with (
        connected(server.port, "spark-ori", "#a") as ori,
        connected(server.port, "spark-bo", "#a") as bo,
    ):
        before = server.keeper.path.stat().st_size
        ori.send("PRIVMSG #a :plain", "PRIVMSG #a :@spark-bo ☃", "NOTICE spark-bo :psst", "PING x")
        await bo.until(":psst")
        assert server.keeper.path.stat().st_size == before


async def test_who_spoke_last_is_written_once_a_minute(server: Server, tmp_path: Path):
    (tmp_path / "run").mkdir()
    async with connected(server.port, "spark-ori", "#a") as ori:
        server.clock.advance(61)
        server.keeper.tick()
        before = server.keeper.path.stat().st_size
        server.clock.advance(30)
        ori.send("PRIVMSG #a :plain", "PING x")
        await ori.until("PONG")
        server.keeper.tick()
        assert server.keeper.path.stat().st_size == before
        server.clock.advance(30)
        server.keeper.tick()
        assert list(server.kept("spoke_at")) == [server.clock() - 30]


async def test_since_when_users_of_other_hosts_are_idle_is_known_after_a_crash(
    server: Server, tmp_path: Path
):
    (tmp_path / "run").mkdir()
    ircd = server.driver.ircd
    about = ("bo", "thor", None, "", 1.0, "Bo")
    bo, kit = (add_remote_user(ircd, "thor", SnapshotUser(nick, *about)) for nick in ("thor-bo", "thor-kit"))
    bo.spoke_at = kit.spoke_at = ircd.clock()
    async with connected(server.port, "spark-ori", "#a") as ori:
        server.keeper.tick()
        remove_remote_user(ircd, kit, "gone")
        ori.send("NICK spark-kit")
        await ori.until(" NICK ")
        network = Network()
        other = Driver(network.ircd, keeper=SessionKeeper(network.ircd, FdStore({}), tmp_path / "run"))

        restore(other, [])

        assert network.ircd.state.users["thor-bo"].spoke_at == bo.spoke_at
        assert "thor-kit" not in network.ircd.state.users
        assert server.kept("guest_spoke_at") == [bo.spoke_at]


def lose_who_is_inside(ircd: Ircd) -> None:
    """The host of the only one in #inside, which is closed."""
    ircd.state.expect_remote_users()
    bo = add_remote_user(ircd, "thor", SnapshotUser("thor-bo", "bo", "thor", None, "", 1.0, "Bo"))
    ircd.apply_change(Joined(bo, Channel("#inside", 1.0, flags={Flag.INVITE_ONLY})), "m", 1.0)
    MeshHost(ircd).remove_users_of(["thor"], ("spark", "thor"))


async def test_a_channel_whose_members_were_lost_is_written_until_their_host_is_back(
    server: Server, tmp_path: Path
):
    (tmp_path / "run").mkdir()
    async with connected(server.port, "spark-ori", "#a") as ori:
        lose_who_is_inside(server.driver.ircd)
        ori.send("NICK spark-kit")
        await ori.until(" NICK ")
        assert [each["name"] for each in server.kept("channel")] == ["#a", "#inside"]

        host_returned(server.driver.ircd.state, "thor")
        ori.send("NICK spark-ori")
        await ori.until(" NICK ")
        assert [each["name"] for each in server.kept("channel")] == ["#a"]


async def test_a_channel_whose_members_were_lost_is_closed_still_after_a_crash(
    server: Server, tmp_path: Path
):
    (tmp_path / "run").mkdir()
    lose_who_is_inside(server.driver.ircd)
    async with connected(server.port, "spark-ori"):
        network = Network(links=(LinkConfig(name="thor", secret_credential="thor"),))

        restore(Driver(network.ircd, keeper=SessionKeeper(network.ircd, FdStore({}), tmp_path / "run")), [])

    ori = network.client("spark-ori")
    ori.send("JOIN #inside")
    assert ori.lines() == [":spark 473 spark-ori #inside :Cannot join channel (+i)"]


async def test_who_sends_byte_by_byte_fills_no_file(server: Server, tmp_path: Path, eventually):
    (tmp_path / "run").mkdir()
    async with connected(server.port, "spark-ori") as ori:
        (connection,) = server.driver._connections.values()
        ori.writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        line = "@" + "x" * 4000
        ori.writer.write(line.encode())
        await eventually(lambda: connection.half)
        for _ in range(50):
            size = len(connection.half)
            ori.writer.write(b"x")
            line += "x"
            await eventually(lambda size=size: len(connection.half) > size)
        assert [half for half, _ in server.kept("half")] == [line]
        assert server.keeper.path.stat().st_size < ROOM_BYTES + 3 * len(line)


async def test_where_it_cannot_be_written_all_goes_on_and_it_is_written_later(
    server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    with caplog.at_level(logging.ERROR):
        async with connected(server.port, "spark-ori", "#a") as ori:
            assert [record.levelname for record in caplog.records] == ["ERROR"]
            assert "a restart now would disconnect everyone" in caplog.text
            assert server.sessions() == []
            (tmp_path / "run").mkdir()
            server.keeper.tick()
            assert [each["nick"] for each in server.sessions()] == ["spark-ori"]
            ori.send("NICK spark-kit")
            await ori.until(" NICK ")
            assert [each["nick"] for each in server.sessions()] == ["spark-kit"]


async def test_no_password_is_written(server: Server, tmp_path: Path):
    (tmp_path / "run").mkdir()
    plain = Plain(*await asyncio.open_connection("127.0.0.1", server.port))
    plain.send("PASS hunter2", "NICK spark-ori", "PING x")
    await plain.until("PONG")
    assert [each["nick"] for each in server.sessions()] == ["spark-ori"]
    assert "hunter2" not in server.keeper.path.read_text()
    await plain.close()
