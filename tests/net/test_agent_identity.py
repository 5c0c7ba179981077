"""On the server an agent is itself: the user of its connection says who it is, by every listener."""

import contextlib
import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.irc import Plain
from support.network import Network
from support.unix_users import (
    AGENT_UID,
    IS_ROOT,
    OTHER_AGENT_UID,
    PERSON_UID,
    agent_users,
    connected_as,
    opened_as,
)

from culture.config.agents import AgentUser
from culture.config.ircd import AccountsConfig
from culture.net.auth.agent_users import AgentUsers
from culture.net.driver import Driver
from culture.net.listen.listeners import address_of, listening

needs_users = pytest.mark.skipif(not IS_ROOT, reason="only root can be several users")


@dataclass
class Server:
    driver: Driver
    path: str
    tcp: tuple[str, int]

    async def connect(self, uid: int, by: str) -> Plain:
        return await connected_as(uid, self.path if by == "unix" else self.tcp)


@pytest.fixture
def directory() -> Iterator[Path]:
    """Where every user may look."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


@contextlib.asynccontextmanager
async def serving(directory: Path, users: AgentUsers, **config: object) -> AsyncIterator[Server]:
    with listening((f"unix:{directory}/ircd.sock", "127.0.0.1:0"), []) as listeners:
        os.chmod(directory / "ircd.sock", 0o666)
        driver = Driver(Network(agents=users, **config).ircd, agents=users)
        driver.serve(listeners)
        tcp = address_of(listeners[1])
        yield Server(driver, f"{directory}/ircd.sock", (tcp.host, tcp.port))
        await driver.stop()


@pytest.fixture
async def server(directory: Path) -> AsyncIterator[Server]:
    users = agent_users(directory, AgentUser("spark-claude"), AgentUser("spark-helper", "ori"))
    async with serving(directory, users) as server:
        yield server


@pytest.mark.parametrize("by", ["unix", "tcp"])
async def test_an_agent_is_logged_in_by_its_user(server: Server, by: str, caplog: pytest.LogCaptureFixture):
    caplog.set_level("INFO")
    client = await server.connect(AGENT_UID, by)
    client.send("NICK spark-claude", "USER c 0 * :c")
    assert await client.read() == ":spark 900 * *!*@spark spark-claude :You are now logged in as spark-claude"
    await client.until(" 001 spark-claude ")
    client.send("NICK spark-ori")
    await client.until(" 432 spark-claude spark-ori ")
    await client.close()
    entries = {each.getMessage(): each for each in caplog.records if hasattr(each, "CULTURE_UNIX_USER")}
    assert {each.CULTURE_UNIX_USER for each in entries.values()} == {"culture-spark-claude"}
    assert any("may not be called 'spark-ori'" in text for text in entries)


@needs_users
@pytest.mark.parametrize("by", ["unix", "tcp"])
@pytest.mark.parametrize("uid", [OTHER_AGENT_UID, PERSON_UID, 0])
async def test_nobody_else_can_take_its_nick(server: Server, uid: int, by: str):
    client = await server.connect(uid, by)
    client.send("NICK spark-claude", "USER c 0 * :c")
    await client.until(" 432 " if uid == OTHER_AGENT_UID else " 433 ")
    await client.close()


@needs_users
async def test_a_person_is_not_confined_and_may_use_the_nick_of_the_agent_that_runs_as_them(server: Server):
    client = await server.connect(PERSON_UID, "tcp")
    client.send("NICK spark-helper", "USER c 0 * :c", "NICK spark-ori", "NICK spark-helper")
    await client.until(" 001 spark-helper ")
    await client.until("NICK :spark-ori")
    await client.until("NICK :spark-helper")
    await client.close()
    other = await server.connect(AGENT_UID, "tcp")
    other.send("NICK spark-helper")
    await other.until(" 432 ")
    await other.close()


@needs_users
async def test_an_agent_is_no_proxy_that_speaks_for_others(directory: Path):
    users = agent_users(directory)
    async with serving(directory, users, proxies=("127.0.0.0/8",)) as server:
        agent, proxy = await server.connect(AGENT_UID, "tcp"), await server.connect(0, "tcp")
        header = "PROXY TCP4 192.0.2.1 192.0.2.9 4711 6667"
        agent.send(header, "NICK spark-ori", "USER c 0 * :c")
        await agent.until(" 900 ")
        await agent.until(" 432 ")
        proxy.send(header, "NICK spark-ori", "USER c 0 * :c")
        await proxy.until(" 001 ")
        await agent.close()
        await proxy.close()


async def test_an_agent_that_closes_before_it_is_known_says_nothing(server: Server):
    sock = opened_as(AGENT_UID, server.tcp)
    sock.send(b"NICK spark-mallory\r\nUSER m 0 * :m\r\nJOIN #a\r\n")
    sock.close()
    witness = await server.connect(AGENT_UID, "unix")
    witness.send("NICK spark-claude", "USER c 0 * :c", "WHOWAS spark-mallory", "WHOIS spark-mallory")
    await witness.until(" 406 ")
    await witness.until(" 401 ")
    await witness.close()


@needs_users
@pytest.mark.parametrize("chain", [(), ("network",), ("user", "network")])
async def test_no_configuration_makes_an_agent_somebody_else(directory: Path, chain: tuple[str, ...]):
    accounts = AccountsConfig(
        authenticators=chain,
        trusted=("unix", "127.0.0.0/8"),
        local_users={"culture-spark-claude": "ori", "ori": "spark-claude"},
    )
    async with serving(directory, agent_users(directory), accounts=accounts) as server:
        agent, ori = await server.connect(AGENT_UID, "unix"), await server.connect(PERSON_UID, "unix")
        await agent.until(" 900 * *!*@spark spark-claude ")
        ori.send("NICK spark-ori", "USER o 0 * :o", "WHOIS spark-ori")
        await ori.until(" 318 ")
        assert not any(" 330 " in line or " 900 " in line for line in ori.seen)
        await agent.close()
        await ori.close()


async def test_without_agents_nobody_asks_who_connects(directory: Path):
    async with serving(directory, agent_users(directory, passwd="")) as server:
        client = await server.connect(os.getuid(), "tcp")
        client.send("NICK spark-ori", "USER o 0 * :o")
        await client.until(" 001 ")
        assert [each.uid for each in server.driver.ircd.sessions] == [None]
        await client.close()
