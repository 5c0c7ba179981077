"""What clients add to history is bounded: who writes too fast waits, and nothing of it is lost."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.history import Remembering, remembering
from support.irc import Plain, connected
from support.network import Clock

from culture.config.ircd import Limits
from culture.config.skills import HistoryConfig
from culture.net.driver import Driver
from culture.net.limits.history_quota import BURST_S, MAX_CLIENTS, HistoryQuota
from culture.net.listen.listeners import address_of, listening

RATE = 100
BURST_BYTES = RATE * BURST_S


def quota(clock: Clock, **config: int) -> HistoryQuota:
    return HistoryQuota(lambda: HistoryConfig(**config), clock)


def test_a_client_may_write_a_burst_and_then_as_much_as_time_passes():
    clock = Clock()
    bounded = quota(clock, client_bytes_per_s=RATE, total_bytes_per_s=0)
    assert not bounded.charge("ori", BURST_BYTES - 1)
    assert bounded.charge("ori", 1000)
    assert bounded.wait_s("ori") == pytest.approx(10, abs=0.1)
    assert bounded.wait_s("bo") == 0
    clock.advance(10.1)
    assert bounded.wait_s("ori") == 0


def test_all_clients_together_have_a_bound_of_their_own():
    clock = Clock()
    bounded = quota(clock, client_bytes_per_s=0, total_bytes_per_s=RATE)
    for number in range(10):
        bounded.charge(f"client {number}", BURST_BYTES // 8)
    assert bounded.wait_s("somebody else") > 0
    clock.advance(BURST_S)
    assert bounded.wait_s("somebody else") == 0


def test_zero_is_no_bound_and_a_reload_counts_at_once():
    clock = Clock()
    config = HistoryConfig(client_bytes_per_s=0, total_bytes_per_s=0)
    bounded = HistoryQuota(lambda: config, clock)
    assert not bounded.charge("ori", 1 << 40)
    config = HistoryConfig(client_bytes_per_s=RATE, total_bytes_per_s=0)
    assert bounded.charge("ori", 2 * BURST_BYTES)
    config = HistoryConfig(client_bytes_per_s=0, total_bytes_per_s=0)
    assert bounded.wait_s("ori") == 0


def test_who_comes_from_many_addresses_fills_no_memory_and_frees_nobody_who_still_owes():
    clock = Clock()
    bounded = quota(clock, client_bytes_per_s=RATE, total_bytes_per_s=0)
    for number in range(MAX_CLIENTS - 1):
        bounded.charge(number, 1)
    bounded.charge("debtor", 2 * BURST_BYTES)
    clock.advance(1)
    for number in range(MAX_CLIENTS):
        bounded.charge(MAX_CLIENTS + number, 1)
        clock.advance(0.05)
    assert len(bounded._clients) <= MAX_CLIENTS
    assert bounded.wait_s("debtor") > 0


@contextlib.asynccontextmanager
async def serving(tmp_path: Path) -> AsyncIterator[tuple[Driver, Remembering, int]]:
    config = HistoryConfig(client_bytes_per_s=RATE)
    limits = Limits(local_rate_lines_per_s=0)
    with (
        remembering(tmp_path, limits=limits, history=config) as network,
        listening(("127.0.0.1:0",), []) as listeners,
    ):
        driver = Driver(network.ircd)
        driver.serve(listeners)
        yield driver, network, address_of(listeners[0]).port
        await driver.stop()


def written_bytes(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.glob("journal-*"))


@pytest.mark.parametrize(
    "lines",
    [
        [f"PRIVMSG #a :{'x' * 300}"],
        [f"PRIVMSG #a :{'é' * 150}"],
        [f"NOTICE #a,#b,#c,#d :{'x' * 300}"],
        [f"@+data={'x' * 3000} TAGMSG #a"],
        ["NICK spark-ori1", "NICK spark-ori2"],
        ["JOIN #e", "PART #e"],
        [f"TOPIC #a :{'x' * 300}", "TOPIC #a :short"],
        [f"RELAYMSG #a zoe/net :{'x' * 300}"],
    ],
    ids=lambda lines: lines[0].split(" ")[-2][:8],
)
async def test_whatever_a_client_writes_with_it_is_held_back(tmp_path: Path, eventually, lines: list[str]):
    caps = "message-tags draft/relaymsg"
    async with (
        serving(tmp_path) as (driver, _, port),
        connected(port, "spark-ori", "#a", "#b", "#c", "#d", caps=caps) as ori,
    ):
        (connection,) = driver._connections.values()
        ori.send(*lines * 400)
        await eventually(lambda: driver.history_quota.wait_s(connection.session.client) > 0)
        await eventually(lambda: not connection._transport.is_reading())
        # What is owed is no more than what one read can bring.
        assert written_bytes(tmp_path) < 4 * BURST_BYTES


async def test_who_is_held_back_is_heard_when_it_is_paid_for(tmp_path: Path):
    async with serving(tmp_path) as (driver, _, port), connected(port, "spark-ori", "#a") as ori:
        (connection,) = driver._connections.values()
        driver.history_quota.charge(connection.session.client, BURST_BYTES)
        ori.send("PRIVMSG #a :late", "PING x")
        await ori.until("PONG")
        ori.send("PRIVMSG #a :later", "PING y")
        assert await answered(ori) == "y"


async def answered(client: Plain) -> str:
    return (await client.until("PONG")).rpartition(":")[2].split(" ")[-1]
