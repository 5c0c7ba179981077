"""IRCv3 account-tag and bot-mode: on all that comes from somebody, whoever is told it."""

import pytest
from support.network import Client, Network

from culture.config.ircd import OperConfig


@pytest.fixture
def network() -> Network:
    return Network(opers=(OperConfig("root", account="jilles"),))


@pytest.fixture
def jilles(network: Network) -> Client:
    """Logged in, a bot, and an operator."""
    jilles = network.client("spark-jilles", "#a", caps="account-tag message-tags", account="jilles")
    jilles.send("OPER root", "MODE spark-jilles +B")
    assert jilles.lines()[-1] == "@account=jilles;bot :spark-jilles!jilles@spark MODE spark-jilles +B"
    return jilles


@pytest.mark.parametrize(
    ("typed", "commands"),
    [
        ("WALLOPS :hello", ["WALLOPS"]),
        ("CHGHOST spark-jilles j example.org", ["QUIT", "JOIN", "AWAY"]),
    ],
)
def test_others_can_tell_who_it_is(network: Network, jilles: Client, typed: str, commands: list[str]):
    bo = network.client("spark-bo", "#a", caps="account-tag message-tags away-notify")
    bo.send("MODE spark-bo +w")
    jilles.send("AWAY :out")
    bo.lines()
    jilles.send(typed)
    told = [line.split(" ") for line in bo.lines() if "spark-jilles!" in line]
    assert [(line[0], line[2]) for line in told] == [("@account=jilles;bot", command) for command in commands]


def test_so_can_they_themselves(jilles: Client):
    jilles.send("RENAME #a #b")
    part, join, *_ = jilles.lines()
    assert part == "@account=jilles;bot :spark-jilles!jilles@spark PART #a"
    assert join == "@account=jilles;bot :spark-jilles!jilles@spark JOIN #b"
