"""Questions about accounts on a running server: nobody waits but who asked."""

import asyncio
import base64
import contextlib
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.irc import Plain, connected
from support.network import Network

from culture.ircd.auth.questions import Authenticator
from culture.net.auth.accounts import StoredAccounts
from culture.net.driver import Driver
from culture.net.listen.listeners import address_of, listening
from culture.net.listen.origin import parse_ip
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


class SlowAccounts(StoredAccounts):
    """Answers about one account only when it is let, and about the others at once."""

    def __init__(self, accounts: Accounts) -> None:
        super().__init__(accounts)
        self.may_answer = threading.Event()
        self.asked = threading.Semaphore(0)

    def check_password(self, name: str, password: str) -> str | None:
        if name == "slow":
            self.asked.release()
            assert self.may_answer.wait(10)
            return None
        return super().check_password(name, password)


async def connected_from(address: str, port: int) -> Plain:
    plain = Plain(*await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0)))
    plain.send("CAP REQ :sasl")
    await plain.until(" ACK ")
    return plain


async def test_logins_of_one_client_do_not_stand_in_front_of_everybodys(accounts: Accounts):
    slow = SlowAccounts(accounts)
    secret = base64.b64encode(b"\0slow\0x").decode()
    async with serving(slow) as (_, port):
        greedy = [await connected_from("127.0.0.2", port) for _ in range(8)]
        for each in greedy:
            each.send("AUTHENTICATE PLAIN", f"AUTHENTICATE {secret}")
        assert await asyncio.to_thread(slow.asked.acquire, timeout=10)
        ori = await connected_from("127.0.0.3", port)
        ori.send(*LOGIN)
        await ori.until(" 903 ")
        slow.may_answer.set()
        for each in (*greedy, ori):
            await each.close()


async def test_who_failed_often_waits_and_others_do_not(accounts: Accounts):
    wrong = base64.b64encode(b"\0ori\0wrong").decode()
    async with serving(StoredAccounts(accounts)) as (driver, port):
        for _ in range(6):
            guesser = await connected_from("127.0.0.2", port)
            guesser.send("AUTHENTICATE PLAIN", f"AUTHENTICATE {wrong}")
            await guesser.until("AUTHENTICATE +")
            if driver.ircd.login_backoff.ready_at(parse_ip("127.0.0.2"), 20.0) > 0:
                break
            await guesser.until(" 904 ")
            await guesser.close()
        ori = await connected_from("127.0.0.3", port)
        ori.send(*LOGIN)
        await ori.until(" 903 ")
        assert not any(" 904 " in line for line in guesser.seen)
        await ori.close()
        await guesser.close()
