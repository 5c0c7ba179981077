"""The server on real sockets: what the network does to lines, and slow or vanishing clients."""

import asyncio
import contextlib
import gc
import socket
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import cast

import pytest
from support.irc import DEADLINE_S, Plain, connected
from support.network import Network

from culture.config.ircd import Limits
from culture.ircd.delivery.fast_path import MAX_INPUT_BYTES
from culture.ircd.model.user import User
from culture.ircd.recording.record import FULL
from culture.ircd.session import Session
from culture.ircd.skills import EventRecord, Skill, Skills
from culture.net.connection import Connection
from culture.net.driver import Driver
from culture.net.listen.listeners import address_of, listening
from culture.net.sockets.batch_io import MIN_SOCKETS, BatchIo
from culture.net.sockets.epoll_loop import READ_BYTES
from culture.net.sockets.socket_transport import SocketTransport
from culture.protocol.render import Form

NO_RATE = pytest.mark.parametrize("server", [Limits(local_rate_lines_per_s=0)], indirect=True)


class Server:
    def __init__(self, driver: Driver, listeners: list[socket.socket]) -> None:
        self.driver = driver
        self.port = address_of(listeners[0]).port


@pytest.fixture(params=[Limits(sendq_bytes=65536)])
async def server(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Server]:
    network = Network(limits=request.param)
    addresses = ("127.0.0.1:0", f"unix:{tmp_path}/ircd.sock")
    with listening(addresses, []) as listeners:
        driver = Driver(network.ircd)
        server = Server(driver, listeners)
        driver.serve(listeners)
        yield server
        await driver.stop()


@pytest.mark.parametrize("way", ["one by one", "by one call"])
async def test_a_crowd_that_talks_at_once_hears_all_of_it_in_order(way: str, request: pytest.FixtureRequest):
    bulk = None
    if way == "by one call":
        request.getfixturevalue("io_uring")
        bulk = BatchIo()
    count = 3 * MIN_SOCKETS
    names = [f"spark-n{i}" for i in range(count)]
    with listening(("127.0.0.1:0",), []) as listeners:
        limits = Limits(local_rate_lines_per_s=0, local_clients=0)
        driver = Driver(Network(limits=limits).ircd, batch_io=bulk)
        driver.serve(listeners)
        port = address_of(listeners[0]).port
        async with contextlib.AsyncExitStack() as stack:
            crowd = [await stack.enter_async_context(connected(port, name, "#a")) for name in names]
            # In one turn, since nothing waits in between.
            for i, one in enumerate(crowd):
                one.send(f"PRIVMSG #a :first of {i}", f"PRIVMSG {names[i - 1]} :to you {i}")
            for one in crowd:
                one.send("PRIVMSG #a :second")
            for i, one in enumerate(crowd):
                for _ in range(count - 1):
                    await one.until("PRIVMSG #a :second")
                after = (i + 1) % count
                for j in {*range(count)} - {i}:
                    told = [f"#a :first of {j}", *[f"{names[i]} :to you {j}"] * (j == after), "#a :second"]
                    who = f":{names[j]}!n{j}@spark PRIVMSG "
                    assert [line for line in one.seen if line.startswith(who)] == [
                        who + each for each in told
                    ]
        await driver.stop()


async def test_lines_cut_anywhere_arrive_whole_and_in_order(server: Server):
    async with (
        connected(server.port, "spark-ori", "#a") as ori,
        connected(server.port, "spark-bo", "#a") as bo,
    ):
        raw = "".join(f"PRIVMSG #a :line {i} ☃\r\n" for i in range(50)).encode()
        for start in range(0, len(raw), 7):
            ori.writer.write(raw[start : start + 7])
            await ori.writer.drain()
            await asyncio.sleep(0)
        for i in range(50):
            assert await bo.until("PRIVMSG") == f":spark-ori!ori@spark PRIVMSG #a :line {i} ☃"


@NO_RATE
async def test_messages_that_come_together_are_said_in_their_order_among_other_commands(server: Server):
    async with (
        connected(server.port, "spark-ori", "#a", "#b") as ori,
        connected(server.port, "spark-bo", "#a", "#b") as bo,
    ):
        ori.send(
            "PRIVMSG #a :one",
            "PRIVMSG spark-bo :two",
            "PRIVMSG #b :three",
            "PRIVMSG nobody :here",
            "PRIVMSG #a :four ☃",
            "TOPIC #a :five",
            *(f"PRIVMSG #a :{number}" for number in range(300)),
            "PRIVMSG #b :the end",
        )
        await bo.until("#b :the end")
        said = [line.rpartition(" :")[2] for line in bo.seen if line.startswith(":spark-ori!")]
        assert said == ["one", "two", "three", "four ☃", "five", *map(str, range(300)), "the end"]
        assert await ori.until(" 401 ") == ":spark 401 spark-ori nobody :No such nick/channel"


@NO_RATE
async def test_a_part_of_a_line_that_looks_like_a_message_is_none(server: Server):
    async with (
        connected(server.port, "spark-ori", "#a") as ori,
        connected(server.port, "spark-bo", "#a") as bo,
    ):
        for part in (
            "PRIVMSG #a :one\r\nPRIVMSG #a :he said ",
            "PRIVMSG #a :two\r\n",
            "PRIVMSG #a :three\r\n",
        ):
            ori.writer.write(part.encode())
            # Until it was read: what comes next is another part.
            await bo.until("#a :one" if "one" in part else "two" if "two" in part else "three")
        assert [line.partition("PRIVMSG ")[2] for line in bo.seen if line.startswith(":spark-ori!")] == [
            "#a :one",
            "#a :he said PRIVMSG #a :two",
            "#a :three",
        ]


@NO_RATE
async def test_what_others_do_and_say_at_once_happens_in_the_order_in_which_it_came(server: Server):
    async with (
        connected(server.port, "spark-ori", "#a") as ori,
        connected(server.port, "spark-bo") as bo,
        connected(server.port, "spark-early") as early,
        connected(server.port, "spark-timely") as timely,
        connected(server.port, "spark-late") as late,
    ):
        ori.send("MODE #a -n")
        await ori.until("MODE #a -n")
        # In one turn, since nothing waits in between. Whether words arrive hangs on what was done before.
        early.send("PRIVMSG spark-new :hello")
        bo.send("NICK spark-new")
        timely.send("PRIVMSG spark-new :hello", "PRIVMSG #a :hello")
        ori.send("MODE #a +n")
        late.send("PRIVMSG #a :hello")
        assert await early.until(" 401 ") == ":spark 401 spark-early spark-new :No such nick/channel"
        assert await bo.until("PRIVMSG spark-new") == ":spark-timely!timely@spark PRIVMSG spark-new :hello"
        assert await ori.until("#a :hello") == ":spark-timely!timely@spark PRIVMSG #a :hello"
        assert " 404 spark-late #a " in await late.until(" 404 ")


@NO_RATE
async def test_what_fills_a_read_is_not_taken_for_all_there_is(server: Server):
    assert MAX_INPUT_BYTES < READ_BYTES
    line = "PRIVMSG #a :{:04} " + "x" * 109 + "\r\n"
    raw = "".join(map(line.format, range(READ_BYTES // 128))).encode()
    assert len(raw) == READ_BYTES
    async with (
        connected(server.port, "spark-ori", "#a") as ori,
        connected(server.port, "spark-bo", "#a") as bo,
    ):
        ori.writer.write(raw + b"PRIVMSG #a :the end\r\n")
        await bo.until("#a :the end")
        assert sum("#a :0" in line for line in bo.seen) == READ_BYTES // 128


@NO_RATE
async def test_a_bug_that_a_message_brings_out_costs_its_sender_alone(
    server: Server, caplog: pytest.LogCaptureFixture
):
    async with (
        connected(server.port, "spark-ori", "#a") as ori,
        connected(server.port, "spark-bo", "#a") as bo,
        connected(server.port, "spark-kim", "#a") as kim,
        connected(server.port, "spark-lea"),
    ):
        lea = server.driver.ircd.state.find_user("spark-lea")
        assert lea is not None
        assert lea.session is not None
        sound, lea.session.form = lea.session.form, cast(Form, "no form")
        # In one turn, since nothing waits in between.
        ori.send("PRIVMSG #a :one")
        bo.send("PRIVMSG spark-lea :two")
        kim.send("PRIVMSG #a :three")
        assert "Internal error" in await bo.until("ERROR")
        await kim.until(":one")
        await ori.until(":spark-bo!bo@spark QUIT :Internal error")
        await ori.until(":three")
        assert "closing 127.0.0.1:" in caplog.text
        lea.session.form = sound


async def test_the_kernel_tells_what_a_connection_carried(server: Server):
    async with connected(server.port, "spark-ori") as ori:
        (session,) = server.driver.ircd.sessions
        before = server.driver.ircd.traffic_of(session)
        line = f"PRIVMSG nobody :{'x' * 200}"
        ori.send(line)
        await ori.until(" 401 ")
        after = server.driver.ircd.traffic_of(session)
        assert after.bytes_in - before.bytes_in == len(line) + 2
        assert (after.packets_in - before.packets_in, after.packets_out - before.packets_out) == (1, 1)
        # What was not acknowledged yet may still be lost.
        assert 0 < before.bytes_out <= after.bytes_out


async def test_a_turn_with_much_in_it_is_written_down_in_parts():
    class Counting(Skill):
        name = "counting"
        records = frozenset({"PRIVMSG"})

        def commit(self, happened: Sequence[EventRecord]) -> None:
            sizes.append(len(happened))

    sizes: list[int] = []
    limits = Limits(local_rate_lines_per_s=0)
    with listening(("127.0.0.1:0",), []) as listeners:
        driver = Driver(Network(limits=limits, skills=Skills([Counting()])).ircd)
        driver.serve(listeners)
        port = address_of(listeners[0]).port
        async with contextlib.AsyncExitStack() as stack:
            clients = [
                await stack.enter_async_context(connected(port, f"spark-{name}", "#a"))
                for name in "abcdefghijklmnop"
            ]
            rounds = 0
            # Usually all of it arrives in one turn of the loop, but the kernel may deliver some of it later.
            while rounds < 10 and max(sizes, default=0) < FULL:
                rounds += 1
                for client in clients:
                    client.send(*(f"PRIVMSG #a :{number}" for number in range(100)))
                    client.send("PRIVMSG #a :the \u2603", "PING end")
                for client in clients:
                    await client.until("PONG spark :end")
        await driver.stop()

    assert sum(sizes) == rounds * 16 * 101
    # One client may say so many more before it is seen.
    assert FULL <= max(sizes) < FULL + 101


async def test_a_client_that_never_reads_is_closed_and_the_others_miss_nothing(server: Server):
    async with (
        connected(server.port, "spark-ori", "#a") as ori,
        connected(server.port, "spark-bo", "#a") as bo,
    ):
        stuck, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1)
        sock = writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        writer.write(b"NICK spark-stuck\r\nUSER s 0 * :s\r\nJOIN #a\r\n")
        await bo.until("spark-stuck!s@spark JOIN #a")
        writer.transport.pause_reading()
        heard, said, quit_at = 0, 0, None
        while quit_at is None and said < 200_000:
            ori.send(*(f"PRIVMSG #a :{said + i} {'x' * 300}" for i in range(200)))
            said += 200
            while heard < said:
                line = await bo.read()
                if " QUIT " in line:
                    assert line == ":spark-stuck!s@spark QUIT :SendQ exceeded"
                    quit_at = heard
                else:
                    assert line.startswith(f":spark-ori!ori@spark PRIVMSG #a :{heard} ")
                    heard += 1
        assert quit_at is not None
        writer.transport.abort()
        del stuck


async def test_a_connection_that_breaks_is_seen_as_quit(server: Server):
    async with connected(server.port, "spark-bo", "#a") as bo:
        async with connected(server.port, "spark-ori", "#a") as ori:
            await bo.until("JOIN")
            # A zero linger time turns close into a reset.
            sock = ori.writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            ori.writer.transport.abort()
            assert (
                await bo.until("QUIT")
                == ":spark-ori!ori@spark QUIT :Connection lost: Connection reset by peer"
            )
        bo.send("PRIVMSG spark-ori :still there?")
        assert " 401 " in await bo.read()


async def test_a_unix_socket_is_a_listener_like_any_other(server: Server, tmp_path: Path):
    plain = Plain(*await asyncio.open_unix_connection(str(tmp_path / "ircd.sock")))
    plain.send("NICK spark-ori", "USER o 0 * :o")
    assert (await plain.until(" 001 ")).endswith("spark-ori!o@spark")
    await plain.close()


async def test_quit_before_registration_is_answered(server: Server):
    plain = Plain(*await asyncio.open_connection("127.0.0.1", server.port))
    plain.send("QUIT :never mind")
    assert await plain.read() == "ERROR :Closing Link: spark (Quit: never mind)"
    assert await plain.read() == ""
    await plain.close()


async def test_a_stopping_server_says_goodbye(server: Server):
    async with connected(server.port, "spark-ori") as ori:
        await server.driver.stop()
        assert await ori.until("ERROR") == "ERROR :Closing Link: spark (Server is stopping)"
        assert await ori.read() == ""


async def test_a_bug_costs_one_connection_and_is_logged(server: Server, caplog: pytest.LogCaptureFixture):
    async with (
        connected(server.port, "spark-ori", "#a") as ori,
        connected(server.port, "spark-bo", "#a") as bo,
    ):
        ircd = server.driver.ircd
        broken = ircd.commands["TOPIC"]

        def raise_(*_: object) -> None:
            raise RuntimeError("a bug")

        ircd.commands = {**ircd.commands, "TOPIC": type(broken)(raise_)}
        ori.send("TOPIC #a")
        assert await ori.until("ERROR") == "ERROR :Closing Link: spark (Internal error)"
        assert await bo.until("QUIT") == ":spark-ori!ori@spark QUIT :Internal error"
        assert "a bug" in caplog.text
        bo.send("PING x")
        assert await bo.read() == ":spark PONG spark :x"


async def test_lines_leave_without_delay(server: Server):
    async with connected(server.port, "spark-ori"):
        (connection,) = server.driver._connections.values()
        sock = connection._transport.get_extra_info("socket")
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


async def test_nothing_is_left_of_a_client_for_the_garbage_collector(server: Server):
    """Its pauses are as long as there are clients."""
    gc.collect()
    gc.disable()
    # What other tests left: their loops have ended, and nothing lets go of it any more.
    before = _left()
    try:
        async with connected(server.port, "spark-ori", "#a") as ori:
            assert _left() - before == {"Connection": 1, "Session": 1, "User": 1, "SocketTransport": 1}
            ori.send("QUIT :bye")
            await ori.until("ERROR")
        deadline = asyncio.get_running_loop().time() + DEADLINE_S
        while _left() - before:
            assert asyncio.get_running_loop().time() < deadline, _left()
            await asyncio.sleep(0.01)
    finally:
        gc.enable()


def _left() -> Counter[str]:
    kinds = (Connection, Session, User, SocketTransport)
    return Counter(type(each).__name__ for each in gc.get_objects() if isinstance(each, kinds))


async def test_an_error_in_what_is_done_every_second_ends_no_server(server: Server):
    """Of a link, of the keeper, or of one client, which alone is let go."""
    async with connected(server.port, "spark-ori") as ori, connected(server.port, "spark-bo") as bo:
        [broken] = [each for each in server.driver.ircd.sessions if each.user.nick == "spark-ori"]
        broken.heard_at = cast(float, "never")

        def fail() -> None:
            raise RuntimeError("links are broken")

        server.driver.on_tick = fail
        server.driver.tick()

        assert "Internal error" in await ori.until("ERROR")
        bo.send("PING still-here")
        assert "still-here" in await bo.until("PONG")
