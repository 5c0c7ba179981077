"""Questions about accounts on a running server: nobody waits but who asked."""

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.irc import Plain, connected
from support.network import Network

from culture.ircd.auth import Authenticator
from culture.net.authenticator import StoredAccounts
from culture.net.driver import Driver
from culture.net.listeners import address_of, listening
from culture.store.accounts import Accounts
from culture.store.passwords import Cost

LOGIN = [
    "AUTHENTICATE PLAIN",
    f"AUTHENTICATE {base64.b64encode(b'.ori.sesame'.replace(b'.', bytes(1))).decode()}",
]


@contextlib.asynccontextmanager
async def serving(authenticator: Authenticator | None) -> AsyncIterator[tuple[Driver, int]]:
    with listening(("127.0.0.1:0",), []) as listeners:
        driver = Driver(Network().ircd, authenticator)
        driver.serve(listeners)
        yield driver, address_of(listeners[0]).port
        await driver.stop()


@pytest.fixture
def accounts(tmp_path: Path) -> Accounts:
    accounts = Accounts(tmp_path / "accounts.db", cost=Cost(scrypt_n=2**14, scram_iterations=4096))
    accounts.add("ori", "sesame")
    return accounts


async def test_others_are_served_while_a_password_is_checked(accounts: Accounts):
    async with (
        serving(StoredAccounts(accounts)) as (_, port),
        connected(port, "spark-ori", caps="sasl") as ori,
        connected(port, "spark-bo") as bo,
    ):
        ori.send(*LOGIN * 5, "PING after")
        for number in range(20):
            bo.send(f"PING {number}")
            await bo.until(f"PONG spark :{number}")
        await ori.until("PONG spark :after")
        assert [line.split(" ")[1] for line in ori.seen].count("903") == 5


def break_files(directory: Path) -> None:
    for path in directory.iterdir():
        path.write_bytes(b"broken " * 1000)


async def test_accounts_that_cannot_be_read_are_told_to_the_journal(
    accounts: Accounts, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    async with (
        serving(StoredAccounts(accounts)) as (_, port),
        connected(port, "spark-ori", caps="sasl") as ori,
    ):
        break_files(tmp_path)
        ori.send(*LOGIN, "PING x")
        await ori.until(" 904 ")
        await ori.until("PONG spark :x")
    assert "could not log in: cannot use" in caplog.text
    assert "sesame" not in caplog.text


async def test_without_accounts_nobody_logs_in():
    async with serving(None) as (_, port), connected(port, "spark-ori", caps="sasl") as ori:
        ori.send(*LOGIN)
        await ori.until(" 904 ")


async def test_a_server_stops_in_the_middle_of_a_question(accounts: Accounts):
    async with serving(StoredAccounts(accounts)) as (driver, port):
        ori = Plain(*await asyncio.open_connection("127.0.0.1", port))
        ori.send("CAP REQ :sasl", *LOGIN)
        await ori.until("AUTHENTICATE +")
        await driver.stop()
        await ori.until("ERROR :Closing Link")
        await ori.close()
