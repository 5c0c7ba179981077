"""A client that talks too fast waits; nothing of it is lost, and nobody else notices."""

import asyncio
import contextlib
import dataclasses
import socket
import time
from collections.abc import AsyncIterator

from support.irc import Plain, connected
from support.network import Network

from culture.config.ircd import Limits
from culture.ircd.commands.row import Command
from culture.ircd.server import Ircd
from culture.ircd.session import Session
from culture.ircd.slices import SLICE_S, Steps
from culture.net.connection import MAX_LENT_TOKENS
from culture.net.driver import Driver
from culture.net.listen.listeners import address_of, listening
from culture.protocol.line import Line


@contextlib.asynccontextmanager
async def serving(rate: int, burst: int) -> AsyncIterator[tuple[Driver, int]]:
    limits = Limits(local_rate_lines_per_s=rate, local_burst_lines=burst)
    with listening(("127.0.0.1:0",), []) as listeners:
        driver = Driver(Network(limits=limits).ircd)
        driver.serve(listeners)
        yield driver, address_of(listeners[0]).port
        await driver.stop()


async def test_everything_arrives_in_order_and_not_faster_than_allowed():
    async with (
        serving(400, 50) as (_, port),
        connected(port, "spark-ori", "#a") as ori,
        connected(port, "spark-bo", "#a") as bo,
    ):
        began = time.monotonic()
        ori.send(*(f"PRIVMSG #a :{i}" for i in range(300)))
        for i in range(300):
            assert await bo.until("PRIVMSG") == f":spark-ori!ori@spark PRIVMSG #a :{i}"
        # 300 lines, of which at most 50 were there at once.
        assert time.monotonic() - began >= 250 / 400


async def test_who_says_one_thing_at_a_time_is_not_heard_faster_than_allowed(eventually):
    async with (
        serving(1, 200) as (driver, port),
        connected(port, "spark-ori", "#a") as ori,
        connected(port, "spark-bo", "#a") as bo,
    ):
        connection = next(
            each for each in driver._connections.values() if each.session.user.nick == "spark-ori"
        )
        said = 0
        while connection._transport.is_reading():
            ori.send(f"PRIVMSG #a :{said}")
            await bo.until(f"PRIVMSG #a :{said}")
            said += 1
        # Of what was there at once three lines were spent on the way in. On a busy machine the server may
        # stop reading a little earlier, because the client used too much of its time.
        assert 100 <= said <= 197 + MAX_LENT_TOKENS


async def test_a_client_that_floods_slows_only_itself():
    async with (
        serving(100, 20) as (driver, port),
        connected(port, "spark-ori") as ori,
        connected(port, "spark-bo") as bo,
    ):
        ori.writer.write(b"PING flood\r\n" * 20_000)
        for i in range(10):
            bo.send(f"PING {i}")
            assert await bo.until("PONG") == f":spark PONG spark :{i}"
        # What it sent stays in the kernel and with the client, not with the server.
        (connection,) = (each for each in driver._connections.values() if each._waiting)
        assert len(connection._waiting) * len("PING flood") <= 256 * 1024
        ori.writer.transport.abort()


async def test_what_never_ends_a_line_counts_too(eventually):
    async with serving(100, 20) as (driver, port), connected(port, "spark-ori") as ori:
        (connection,) = driver._connections.values()
        ori.writer.write(b"x" * 100_000)
        await eventually(lambda: not connection._transport.is_reading())
        ori.writer.transport.abort()


async def test_what_is_held_of_a_line_counts_each_time_that_a_little_comes(eventually):
    async with serving(1, 20) as (driver, port), connected(port, "spark-ori") as ori:
        (connection,) = driver._connections.values()
        ori.writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        ori.writer.write(b"@" + b"x" * 4000)
        await eventually(lambda: connection.half)
        for _ in range(2):
            size = len(connection.half)
            ori.writer.write(b"x")
            await eventually(lambda size=size: len(connection.half) > size)
        assert not connection._transport.is_reading()
        ori.writer.transport.abort()


async def test_what_was_said_before_the_end_is_still_heard():
    async with serving(200, 10) as (_, port), connected(port, "spark-bo", "#a") as bo:
        ori = Plain(*await asyncio.open_connection("127.0.0.1", port))
        ori.send("NICK spark-ori", "USER o 0 * :o", "JOIN #a", *(f"PRIVMSG #a :{i}" for i in range(60)))
        ori.send("QUIT :done")
        ori.writer.write_eof()
        for i in range(60):
            assert (await bo.until("PRIVMSG")).endswith(f":{i}")
        assert (await bo.until("QUIT")).endswith("QUIT :Quit: done")
        await ori.close()


async def test_zero_is_no_limit():
    async with serving(0, 0) as (driver, port), connected(port, "spark-ori") as ori:
        assert all(each._bucket is None for each in driver._connections.values())
        ori.send(*(f"PING {i}" for i in range(5000)))
        for i in range(5000):
            assert await ori.until("PONG") == f":spark PONG spark :{i}"


async def test_costly_questions_of_one_keep_nobody_else_waiting():
    """Two hundred LISTs in one write are answered in small parts, between what others say."""
    ran: list[str] = []
    async with (
        serving(0, 0) as (driver, port),
        connected(port, "spark-ori", "#a") as ori,
        connected(port, "spark-bo", "#b") as bo,
    ):
        for name in ("LIST", "PING"):
            driver.ircd.commands[name] = noting(ran, name, driver.ircd.commands[name])
        bo.send(*(f"JOIN #c{number}" for number in range(99)))
        await bo.until(" 366 spark-bo #c98 ")
        bo.send(*["LIST"] * 200)
        ori.send("PING :x")
        await ori.until("PONG")
        for _ in range(200):
            await bo.until(" 323 ")
    assert ran.count("LIST") == 200
    assert 0 < ran.index("PING") < 200


async def test_a_client_that_uses_up_the_loop_is_heard_less_often():
    """A line that takes long costs more than one token, so that the next one waits."""
    async with serving(1000, 100) as (driver, port), connected(port, "spark-bo", "#b") as bo:
        driver.ircd.commands["TIME"] = Command(taking_long)
        bo.send("TIME", "PING :x")
        began = driver.now()
        await bo.until("PONG")
        # It took 0.05 s of the loop, which is a tenth of half a second, less the burst of 0.1 s.
        assert driver.now() - began >= 0.3


def taking_long(ircd: Ircd, session: Session, line: Line) -> None:
    ends_at = time.monotonic() + 0.05
    while time.monotonic() < ends_at:
        pass


async def test_a_long_command_goes_on_between_what_others_say_and_is_finished():
    async with (
        serving(0, 0) as (driver, port),
        connected(port, "spark-ori", "#a") as ori,
        connected(port, "spark-bo", "#b") as bo,
    ):
        driver.ircd.commands["TIME"] = Command(in_many_steps)
        bo.send("TIME", "PING :behind")
        ori.send("PING :x")
        assert await ori.until("PONG") == ":spark PONG spark :x"
        assert await bo.until("391") == ":spark 391 spark-bo :done"
        assert await bo.until("PONG") == ":spark PONG spark :behind"


def in_many_steps(ircd: Ircd, session: Session, line: Line) -> Steps:
    for _ in range(20):
        taking_a_slice = time.monotonic() + SLICE_S
        while time.monotonic() < taking_a_slice:
            pass
        yield
    ircd.reply(session, "391", "done")


def noting(ran: list[str], name: str, command: Command) -> Command:
    def run(ircd: Ircd, session: Session, line: Line) -> Steps | None:
        ran.append(name)
        return command.run(ircd, session, line)

    return dataclasses.replace(command, run=run)
