"""Channel operators are people or guests; an agent becomes one only if an operator makes it one."""

import pytest
from support.known_agents import KnownAgents, agent_of, unix_person
from support.network import Client, Network


@pytest.fixture
def network() -> Network:
    return Network(agents=KnownAgents())


def operators(network: Network, name: str = "#ops") -> list[str]:
    channel = network.ircd.state.channels[name]  # type: ignore[index]
    return [user.nick for user in channel.members if channel.is_operator(user)]


def test_a_guest_who_is_first_in_is_operator(network: Network):
    network.client("spark-guest", "#ops")
    network.client("spark-other", "#ops")
    assert operators(network) == ["spark-guest"]


def test_an_agent_that_is_first_in_is_not(network: Network):
    claude = agent_of(network, "#ops")
    assert operators(network) == []
    claude.send("NAMES #ops", "MODE #ops +o spark-claude", "TOPIC #ops :mine", "KICK #ops spark-claude")
    assert claude.lines() == [
        ":spark 353 spark-claude = #ops :spark-claude",
        ":spark 366 spark-claude #ops :End of /NAMES list",
        *[":spark 482 spark-claude #ops :You're not channel operator"] * 3,
    ]


def test_the_first_who_joins_agents_is_operator_and_they_are_told(network: Network):
    claude, bot = agent_of(network, "#ops"), network.client("spark-bot")
    bot.send("MODE spark-bot +B", "JOIN #ops")
    claude.lines()
    guest = network.client("spark-guest", "#ops")
    assert operators(network) == ["spark-guest"]
    assert claude.lines() == [
        ":spark-guest!guest@spark JOIN #ops",
        ":spark MODE #ops +o spark-guest",
    ]
    network.client("spark-other", "#ops")
    assert operators(network) == ["spark-guest"]
    guest.send("NAMES #ops")
    assert "@spark-guest" in guest.lines()[1]


def test_a_person_is_operator_of_a_channel_that_has_none(network: Network):
    guest = network.client("spark-guest", "#ops")
    guest.send("MODE #ops -o spark-guest")
    network.client("spark-other", "#ops")
    assert operators(network) == []
    unix_person(network, "spark-ori", "#ops")
    assert operators(network) == ["spark-ori"]
    unix_person(network, "spark-lea", "#ops", uid=1001, user="lea")
    assert operators(network) == ["spark-ori"]


def made_operator(network: Network) -> tuple[Client, Client]:
    ori = unix_person(network, "spark-ori", "#ops")
    claude = agent_of(network, "#ops")
    ori.send("MODE #ops +o spark-claude")
    ori.lines()
    claude.lines()
    return ori, claude


def test_a_person_may_make_an_agent_operator_who_makes_nobody_one(network: Network):
    _, claude = made_operator(network)
    assert operators(network) == ["spark-ori", "spark-claude"]
    codex = agent_of(network, "#ops", nick="spark-codex")
    claude.lines()
    claude.send("MODE #ops +o spark-codex", "MODE #ops +h spark-codex", "MODE #ops -o spark-ori")
    assert claude.lines() == [":spark 482 spark-claude #ops :You're not channel operator"] * 3
    claude.send("MODE #ops +v spark-codex", "TOPIC #ops :disks", "MODE #ops -o spark-claude")
    assert [line.split()[1] for line in claude.lines()] == ["MODE", "TOPIC", "MODE"]
    assert operators(network) == ["spark-ori"]
    assert codex.session.user.is_agent


def test_an_operator_that_is_an_agent_leaves_no_room_for_guests(network: Network):
    ori, _ = made_operator(network)
    ori.send("PART #ops")
    network.client("spark-guest", "#ops")
    assert operators(network) == ["spark-claude"]
