"""extensions/mentions.md: whoever misspells an agent's nick is told, and nobody else."""

import pytest
from support.hosts import Mesh
from support.network import Network

from culture.ircd.commands.messages.misspelled import HINTS_WITHIN_S, MOST_HINTS

HINT = ":spark NOTICE spark-ori :Nobody is called spark-cluade. Did you mean spark-claude?"


@pytest.fixture
def network() -> Network:
    network = Network()
    network.client("spark-claude", "#ops").send("MODE spark-claude +B")
    return network


@pytest.mark.parametrize(
    "text", ["@spark-cluade hello", "spark-cluade: hello", "spark-cluade, hello", "well, ask @spark-cluade!"]
)
def test_the_sender_alone_is_told_who_was_probably_meant(network: Network, text: str):
    ori, bo = network.client("spark-ori", "#ops"), network.client("spark-bo", "#ops")
    ori.lines()

    ori.send(f"PRIVMSG #ops :{text}")

    assert ori.lines() == [HINT]
    assert bo.lines() == [f":spark-ori!ori@spark PRIVMSG #ops :{text}"]


@pytest.mark.parametrize(
    "line",
    [
        "PRIVMSG #ops :@spark-claude hello",
        "PRIVMSG #ops :@spark-bob hello",
        "PRIVMSG #ops :write to ori@spark-cluade or to x@spark-cluade.example.org",
        "PRIVMSG #ops :spark-cluade is what I typed",
        "PRIVMSG #ops :`@spark-cluade` is what I typed",
        "PRIVMSG #ops :well, look: spark-cluade",
        "PRIVMSG #ops :e-mail: ask @all @home",
        # Programs do not answer notices (RFC 2812 section 3.3.2).
        "NOTICE #ops :@spark-cluade hello",
        "TAGMSG #ops",
        # In private, the other end is meant, whatever is written.
        "PRIVMSG spark-bo :@spark-cluade hello",
    ],
)
def test_what_is_no_misspelled_mention_of_an_agent_is_not_answered(network: Network, line: str):
    network.client("spark-bo", "#ops")
    ori = network.client("spark-ori", "#ops")
    ori.lines()
    ori.send(line)
    assert ori.lines() == []


def test_a_person_is_not_suggested():
    network = Network()
    network.client("spark-claude", "#ops")
    ori = network.client("spark-ori", "#ops")
    ori.lines()
    ori.send("PRIVMSG #ops :@spark-cluade hello")
    assert ori.lines() == []


def test_an_agent_that_hides_is_not_revealed():
    network = Network()
    network.client("spark-claude", "#secret").send("MODE spark-claude +Bi")
    ori = network.client("spark-ori", "#ops")
    ori.lines()
    ori.send("PRIVMSG #ops :@spark-cluade hello")
    assert ori.lines() == []


def test_one_message_has_one_hint_and_a_minute_only_some(network: Network):
    ori = network.client("spark-ori", "#ops")
    ori.lines()
    for _ in range(MOST_HINTS + 3):
        ori.send("PRIVMSG #ops :@spark-cluade @spark-clause @spork-claude hello")
    assert ori.lines() == MOST_HINTS * [HINT]

    network.clock.now += HINTS_WITHIN_S
    ori.send("PRIVMSG #ops :@spark-cluade hello")
    assert ori.lines() == [HINT]


def test_an_agent_on_another_host_is_suggested_too():
    mesh = Mesh("spark", "thor")
    mesh["thor"].client("codex", "#ops").send("MODE thor-codex +B")
    ori = mesh["spark"].client("ori", "#ops")
    mesh.settle()
    ori.lines()

    ori.send("PRIVMSG #ops :thor-codxe: hello")
    mesh.settle()

    assert ori.lines() == [":spark NOTICE spark-ori :Nobody is called thor-codxe. Did you mean thor-codex?"]
