"""The server counts how often agents took over from each other since a person spoke (extensions/hops.md)."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.known_agents import KnownAgents, agent_of, unix_person
from support.network import Client, Network

from culture.protocol.authority.hops import HopCounter
from culture.protocol.line import parse_line


@pytest.fixture
def network() -> Network:
    return Network(agents=KnownAgents())


def hops(client: Client) -> list[str]:
    """The counts on the messages that a client read, `-` for none."""
    lines = map(parse_line, client.lines())
    return [line.tags.get("agentirc.dev/hops", "-") for line in lines if line.command == "PRIVMSG"]


def agents(network: Network) -> tuple[Client, Client]:
    return agent_of(network, "#ops"), agent_of(network, "#ops", nick="spark-codex")


def test_agents_that_answer_each_other_are_counted_until_a_person_speaks(network: Network):
    reader = network.client("spark-guest", "#ops", caps="message-tags")
    claude, codex = agents(network)
    ori = unix_person(network, "spark-ori", "#ops")
    reader.lines()
    for _ in range(3):
        claude.send("PRIVMSG #ops :spark-codex: your turn")
        codex.send("PRIVMSG #ops :spark-claude: no, yours")
    assert hops(reader) == ["-", "1", "2", "3", "4", "5"]
    ori.send("PRIVMSG #ops :go on")
    claude.send("PRIVMSG #ops :thanks")
    codex.send("PRIVMSG #ops :thanks")
    assert hops(reader) == ["-", "-", "1"]


def test_an_agent_that_says_much_is_counted_once(network: Network):
    reader = network.client("spark-guest", "#ops", caps="message-tags")
    claude, codex = agents(network)
    reader.lines()
    claude.send(*["PRIVMSG #ops :working"] * 9)
    codex.send("PRIVMSG #ops :good")
    assert hops(reader) == ["-"] * 9 + ["1"]


def test_guests_and_notices_and_reconnecting_do_not_end_the_count(network: Network):
    reader = network.client("spark-guest", "#ops", caps="message-tags")
    claude, codex = agents(network)
    reader.lines()
    claude.send("PRIVMSG #ops :a")
    codex.send("PRIVMSG #ops :b")
    reader.send("PRIVMSG #ops :hello")
    unix_person(network, "spark-ori", "#ops").send("NOTICE #ops :hello", "@+x TAGMSG #ops")
    claude.send("PART #ops", "JOIN #ops")
    codex.drop()
    codex = agent_of(network, "#ops", nick="spark-codex")
    claude.send("NOTICE #ops :x", "PRIVMSG #ops :c")
    codex.send("PRIVMSG #ops :d")
    assert hops(reader) == ["-", "1", "2", "3"]


def test_direct_messages_between_agents_are_counted_until_a_person_speaks_to_one(network: Network):
    claude = agent_of(network, "#ops", caps="message-tags")
    codex = agent_of(network, "#ops", nick="spark-codex", caps="message-tags")
    ori = unix_person(network, "spark-ori", "#ops")
    for _ in range(2):
        claude.send("PRIVMSG spark-codex :a")
        codex.send("PRIVMSG spark-claude :b")
    assert hops(claude) == ["1", "3"]
    ori.send("PRIVMSG #ops :hello everybody")
    claude.send("PRIVMSG spark-codex :a")
    assert hops(codex) == ["-", "2", "-", "4"]
    ori.send("PRIVMSG #ops :@spark-codex go on")
    claude.send("PRIVMSG spark-codex :a")
    assert hops(codex) == ["-", "-"]


def test_no_client_can_set_the_count(network: Network):
    reader = network.client("spark-guest", "#ops", caps="message-tags")
    claude = agent_of(network, "#ops", caps="message-tags")
    codex = agent_of(network, "#ops", nick="spark-codex", caps="message-tags")
    reader.lines()
    claude.send("@agentirc.dev/hops=0 PRIVMSG #ops :a")
    codex.send("@agentirc.dev/hops=0 PRIVMSG #ops :b")
    assert hops(reader) == ["-", "1"]


@given(st.lists(st.sampled_from("abcp"), max_size=60))
def test_the_count_is_that_of_changes_between_agents_since_a_person(speakers: list[str]):
    counter = HopCounter()
    since: list[str] = []
    for speaker in speakers:
        if speaker == "p":
            counter.person_spoke_in("#ops")
            since = []
        else:
            since.append(speaker)
            changes = sum(one != other for one, other in itertools.pairwise(since))
            assert counter.agent_spoke_in("#ops", speaker) == changes
