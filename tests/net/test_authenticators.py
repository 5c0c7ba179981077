"""Classes of the operator's own that are asked who connects: `authenticate(connection)`."""

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.irc import Plain
from support.network import Network
from support.unix_users import AGENT_UID, agent_users, connected_as

from culture.config import loader
from culture.config.ircd import AccountsConfig, IrcdConfig
from culture.errors import ConfigError
from culture.ircd.auth.preauth import Accepted, ConnectionAuthenticator, ConnectionInfo, Refused
from culture.ircd.auth.proof import Proof
from culture.net.auth.agent_users import AgentUsers
from culture.net.auth.authenticator_chain import describe_access
from culture.net.auth.custom_authenticators import find_authenticator, open_authenticators
from culture.net.driver import Driver
from culture.net.listen.listeners import address_of, listening
from culture.net.reload import reload

EXAMPLES = Path(__file__).resolve().parents[2] / "docs/examples"


class Scripted(ConnectionAuthenticator):
    """Says what it is told to, and remembers whom it was asked about."""

    def __init__(self, config: IrcdConfig) -> None:
        super().__init__(config)
        self.answer: object = None
        self.asked: list[ConnectionInfo] = []
        self.was_asked, self.may_answer = threading.Event(), threading.Event()
        self.may_answer.set()

    def authenticate(self, connection: ConnectionInfo) -> Accepted | Refused | None:
        self.asked.append(connection)
        self.was_asked.set()
        assert self.may_answer.wait(10)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer  # type: ignore[return-value]


@contextlib.asynccontextmanager
async def serving(
    answer: object, *, agents: AgentUsers | None = None, **accounts: object
) -> AsyncIterator[tuple[Driver, Scripted, int]]:
    config = AccountsConfig(authenticators=("user", "scripted:Scripted", "network"), **accounts)
    with listening(("127.0.0.1:0",), []) as listeners:
        network = Network(accounts=config, **({"agents": agents} if agents else {}))
        scripted = Scripted(network.ircd.config)
        scripted.answer = answer
        own = {"scripted:Scripted": scripted}
        driver = Driver(network.ircd, agents=agents, authenticators=own)
        driver.serve(listeners)
        yield driver, scripted, address_of(listeners[0]).port
        scripted.may_answer.set()
        await driver.stop()


async def connect(port: int) -> Plain:
    plain = Plain(*await asyncio.open_connection("127.0.0.1", port))
    plain.send("NICK spark-ori", "USER o 0 * :o")
    return plain


async def test_whom_it_accepts_is_logged_in():
    async with serving(Accepted("Ori"), required=True) as (driver, scripted, port):
        plain = await connect(port)
        await plain.until(" 900 * *!*@spark Ori ")
        await plain.until(" 001 ")
        (session,) = driver.ircd.sessions
        assert session.proof is Proof.AUTHENTICATOR
        (asked,) = scripted.asked
        assert (asked.address, asked.is_local, asked.is_secure) == ("127.0.0.1", True, False)
        await plain.close()


async def test_whom_it_accepts_without_an_account_need_not_log_in():
    async with serving(Accepted(), required=True) as (_, _, port):
        plain = await connect(port)
        await plain.until(" 001 ")
        assert not any(" 900 " in line for line in plain.seen)
        await plain.close()


async def test_whom_it_refuses_is_told_why_and_so_is_the_journal(caplog: pytest.LogCaptureFixture):
    async with serving(Refused("No badge")) as (_, _, port):
        plain = await connect(port)
        assert await plain.read() == "ERROR :Closing Link: spark (No badge)"
        await plain.close()
    (entry,) = [each for each in caplog.records if "may not connect" in each.getMessage()]
    assert entry.CULTURE_MECHANISM == "authenticator"


@pytest.mark.parametrize(("trusted", "numeric"), [(("127.0.0.0/8",), " 001 "), ((), "ERROR")])
async def test_whom_it_does_not_know_the_next_one_decides_about(trusted: tuple[str, ...], numeric: str):
    async with serving(None, required=True, trusted=trusted) as (_, _, port):
        plain = await connect(port)
        await plain.until(numeric)
        await plain.close()


@pytest.mark.parametrize("answer", [OSError("no directory"), Accepted("o r i"), "yes"])
async def test_if_it_fails_nobody_comes_in(answer: object, caplog: pytest.LogCaptureFixture):
    async with serving(answer, trusted=("127.0.0.0/8",)) as (_, _, port):
        plain = await connect(port)
        assert await plain.read() == "ERROR :Closing Link: spark (Your identity cannot be determined)"
        await plain.close()
    assert "the authenticator failed" in caplog.text


async def test_until_it_has_answered_the_client_is_not_heard_and_others_are():
    async with serving(Accepted("ori")) as (driver, scripted, port):
        scripted.may_answer.clear()
        first = await connect(port)
        assert await asyncio.to_thread(scripted.was_asked.wait, 10)
        assert [each.is_unidentified for each in driver.ircd.sessions] == [True]
        assert driver.ircd.state.find_user("spark-ori") is None
        scripted.may_answer.set()
        await first.until(" 001 ")
        await first.close()


async def test_no_authenticator_makes_an_agent_somebody_else_or_somebody_an_agent(tmp_path: Path):
    users = agent_users(tmp_path)
    async with serving(Accepted("spark-claude"), agents=users) as (_, scripted, port):
        agent = await connected_as(AGENT_UID, ("127.0.0.1", port))
        agent.send("NICK spark-claude", "USER o 0 * :o")
        await agent.until(" 001 ")
        assert scripted.asked == []
        await agent.close()
        if os.getuid() != AGENT_UID:
            plain = await connect(port)
            await plain.until(" 001 ")
            assert not any(" 900 " in line for line in plain.seen)
            await plain.close()


def test_the_example_in_the_documents_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    config = IrcdConfig(accounts=AccountsConfig(authenticators=("badges:Badges",)))
    (badges,) = open_authenticators(config).values()
    type(badges).file = tmp_path / "badges.txt"  # type: ignore[attr-defined]
    (tmp_path / "badges.txt").write_text("192.0.2.7 ori\n192.0.2.8 -\n\n")

    def ask(address: str) -> object:
        return badges.authenticate(ConnectionInfo(address, 1, False, True, "", None, ""))

    assert ask("192.0.2.7") == Accepted("ori")
    assert isinstance(ask("192.0.2.8"), Refused)
    assert ask("192.0.2.9") is None
    sys.modules.pop("badges")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nowhere:Thing", "cannot import 'nowhere:Thing'"),
        ("culture.names:Thing", "cannot import 'culture.names:Thing'"),
        ("culture.names:fold", "'culture.names:fold' is not an authenticator"),
    ],
)
def test_one_that_is_not_there_is_told(name: str, words: str):
    with pytest.raises(ConfigError, match=words):
        find_authenticator(name)


def test_the_configuration_names_them_and_the_journal_does():
    text = "accounts: {authenticators: [user, 'a.b:C'], required: true, registration: false}\n"
    config = loader.parse(text, IrcdConfig, where="ircd.yaml")
    assert config.accounts.authenticators == ("user", "a.b:C")
    assert describe_access(config) == "accounts are required; these may connect: clients that 'a.b:C' accepts"
    with pytest.raises(ConfigError, match="stands twice"):
        loader.parse("accounts: {authenticators: [user, user]}\n", IrcdConfig, where="ircd.yaml")


async def test_a_reload_that_names_a_bad_one_changes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    driver = Driver(Network().ircd)
    (tmp_path / "ircd.yaml").write_text("name: spark\nmotd: new\naccounts: {authenticators: ['no:Where']}\n")
    reload(driver, tmp_path / "ircd.yaml", None, {})
    assert "cannot import 'no:Where'" in caplog.text
    assert driver.ircd.config.motd == ""
    (tmp_path / "ircd.yaml").write_text(
        "name: spark\nmotd: new\naccounts: {authenticators: ['badges:Badges']}\n"
    )
    reload(driver, tmp_path / "ircd.yaml", None, {})
    assert driver.ircd.config.motd == "new"
    assert list(driver.authenticators) == ["badges:Badges"]
    await driver.stop()
