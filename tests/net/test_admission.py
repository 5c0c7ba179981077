"""Who may connect: limits in total, by address, while registering; counts that survive every kind of end."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.irc import Plain, connected
from support.network import Network

from culture.config.ircd import Limits
from culture.net.driver import Driver
from culture.net.limits.admission import Admission
from culture.net.listen.listeners import address_of, listening
from culture.net.listen.origin import Origin, parse_ip

HERE = Origin(parse_ip("127.0.0.1"), 1)
UNIX = Origin(None)


def origin(text: str) -> Origin:
    return Origin(parse_ip(text), 4711)


def admission(**limits: int) -> Admission:
    fixed = Limits(**limits)
    return Admission(lambda: fixed)


def test_each_limit_has_its_words():
    door = admission(clients=4, clients_per_address=2, unregistered_clients=3)
    for text in ("192.0.2.1", "192.0.2.1"):
        assert door.refusal(origin(text)) is None
        door.enter(origin(text))
    assert door.refusal(origin("192.0.2.1")) == "Too many connections from your address"
    assert door.refusal(origin("192.0.2.2")) is None
    door.enter(origin("192.0.2.2"))
    assert door.refusal(origin("192.0.2.3")) == "Too many connections that have not registered"
    assert door.refusal(HERE) is None
    door.registered()
    door.enter(origin("192.0.2.3"))
    assert door.refusal(HERE) == "Too many connections"


def test_this_machine_has_a_limit_only_if_it_is_set():
    free, bound = admission(clients_per_address=1), admission(clients_per_address=1, local_clients=2)
    for each in (HERE, UNIX, HERE):
        assert free.refusal(each) is None
        free.enter(each)
        bound.enter(each)
    assert bound.refusal(UNIX) == "Too many connections from your address"


def test_an_ipv6_network_counts_as_one_address_and_mapped_ipv4_as_itself():
    door = admission(clients_per_address=1)
    door.enter(origin("2001:db8:0:1::1"))
    door.enter(origin("192.0.2.1"))
    assert door.refusal(origin("2001:db8:0:1:ffff::2")) is not None
    assert door.refusal(origin("2001:db8:0:2::1")) is None
    assert door.refusal(origin("::ffff:192.0.2.1")) is not None


def test_zero_is_no_limit():
    door = admission(clients=0, clients_per_address=0, unregistered_clients=0)
    for _ in range(100):
        door.enter(origin("192.0.2.1"))
    assert door.refusal(origin("192.0.2.1")) is None


texts = st.sampled_from(["127.0.0.1", "192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8:1::1"])


@given(st.lists(st.tuples(texts, st.booleans())))
def test_when_all_have_left_nothing_is_counted(visits):
    door = admission()
    for text, _ in visits:
        door.enter(origin(text))
    for _, registers in visits:
        if registers:
            door.registered()
    for text, registers in visits:
        door.leave(origin(text), was_registered=registers)
    assert (door.connections, door.registering, door.addresses) == (0, 0, 0)


@contextlib.asynccontextmanager
async def serving(**limits: int) -> AsyncIterator[tuple[Driver, int]]:
    with listening(("127.0.0.1:0",), []) as listeners:
        driver = Driver(Network(limits=Limits(**limits)).ircd)
        driver.serve(listeners)
        yield driver, address_of(listeners[0]).port
        await driver.stop()


async def test_a_refused_connection_reads_one_line_and_the_end(caplog: pytest.LogCaptureFixture):
    async with serving(clients=1) as (_, port), connected(port, "spark-ori") as ori:
        for _ in range(3):
            refused = Plain(*await asyncio.open_connection("127.0.0.1", port))
            refused.send("CAP LS 302", "NICK spark-bo", "USER b 0 * :b")
            assert await refused.read() == "ERROR :Closing Link: spark (Too many connections)"
            assert await refused.read() == ""
            await refused.close()
        ori.send("PING x")
        assert await ori.until("PONG") == ":spark PONG spark :x"
    assert caplog.text.count("refusing connections") == 1


async def test_counts_are_right_after_many_ends_of_every_kind(eventually):
    async with serving(local_clients=150) as (driver, port):
        for _ in range(3):
            plains = [Plain(*await asyncio.open_connection("127.0.0.1", port)) for _ in range(150)]
            for number, plain in enumerate(plains):
                if number % 2:
                    plain.send(f"NICK spark-c{number}", "USER u 0 * :u")
                    await plain.until(" 001 ")
            await eventually(lambda: driver.admission.registering == 75)
            assert driver.admission.connections == 150
            extra = Plain(*await asyncio.open_connection("127.0.0.1", port))
            assert "Too many connections from your address" in await extra.read()
            await extra.close()
            for number, plain in enumerate(plains):
                if number % 3 == 0:
                    # A zero linger time turns close into a reset.
                    sock = plain.writer.get_extra_info("socket")
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                    plain.writer.transport.abort()
                elif number % 3 == 1:
                    plain.send("QUIT")
                plain.writer.close()
            await eventually(lambda: driver.admission.connections == 0)
            assert (driver.admission.registering, driver.admission.addresses) == (0, 0)
