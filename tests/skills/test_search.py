"""HISTORY SEARCH: words, phrases, prefixes and filters, for those who may read."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.network import Client, Network


@pytest.fixture
def ori(network: Network) -> Client:
    """A day between the messages."""
    ori, bo = network.client("spark-ori", "#ops", "#dev"), network.client("spark-bo", "#ops")
    for client, line in [
        (ori, "PRIVMSG #ops :the disk of thor is full"),
        (bo, "PRIVMSG #ops :disk disk disk"),
        (bo, "PRIVMSG #ops :the disks are fine, full stop"),
        (ori, 'PRIVMSG #dev :a "disk" AND NOT OR (anything) café'),
        (ori, "PRIVMSG spark-bo :the disk is a secret"),
    ]:
        client.send(line)
        network.clock.advance(86400)
    return ori


def found(client: Client, target: str, query: str) -> list[str]:
    client.lines()
    client.send(f"HISTORY SEARCH {target} :{query}")
    *rows, end = client.lines()
    assert end == f":spark HISTORYEND {target} :End of results"
    return [row.partition("Z :")[2] for row in rows]


@pytest.mark.parametrize(
    ("query", "texts"),
    [
        ("thor", ["the disk of thor is full"]),
        ("DISK", ["disk disk disk", "the disk of thor is full"]),
        ("disk full", ["the disk of thor is full"]),
        ('"is full"', ["the disk of thor is full"]),
        ('"full is"', []),
        ("disk*", ["disk disk disk", "the disks are fine, full stop", "the disk of thor is full"]),
        ("from:spark-bo disk", ["disk disk disk"]),
        ("from:SPARK-BO", ["the disks are fine, full stop", "disk disk disk"]),
        ("full before:1970-01-14", ["the disk of thor is full"]),
        ("full after:1970-01-14", ["the disks are fine, full stop"]),
        ("full after:1970-01-13 before:1970-01-14T00:00:00Z", []),
        ("nothing", []),
        ("NEAR(thor", []),
    ],
)
def test_in_a_channel(ori: Client, query: str, texts: list[str]):
    assert found(ori, "#ops", query) == texts


def test_everywhere_is_what_one_may_read(network: Network, ori: Client):
    assert len(found(ori, "*", "disk")) == 4
    lea = network.client("spark-lea", "#own")
    lea.send("MODE #own +s", "PRIVMSG #own :my disk")
    assert len(found(lea, "*", "disk")) == 4
    assert "the disk is a secret" not in found(lea, "*", "disk")
    assert "my disk" not in found(ori, "*", "disk")
    assert found(ori, "*", "cafe") == ['a "disk" AND NOT OR (anything) café']


def test_what_others_say_among_themselves_hides_nothing(network: Network, ori: Client):
    lea, zoe = network.client("spark-lea", "#own"), network.client("spark-zoe")
    lea.send("MODE #own +s", *(f"PRIVMSG #own :disk {number}" for number in range(200)))
    zoe.send(*(f"PRIVMSG spark-lea :disk {number}" for number in range(200)))
    assert len(found(ori, "*", "disk")) == 4
    assert found(ori, "*", "disk before:1970-01-14") == ["disk disk disk", "the disk of thor is full"]
    assert len(found(lea, "*", "disk")) == 50
    assert found(lea, "*", "thor") == ["the disk of thor is full"]


def test_what_is_said_while_a_channel_is_secret_hides_nothing_of_before(network: Network, ori: Client):
    ori.send("MODE #dev +s", *(f"PRIVMSG #dev :disk {number}" for number in range(301)), "MODE #dev -s")
    lea = network.client("spark-lea")
    assert found(lea, "#dev", "disk") == ['a "disk" AND NOT OR (anything) café']


def test_each_answer_says_where(network: Network, ori: Client):
    ori.lines()
    ori.send("HISTORY SEARCH * :secret")
    assert ori.lines()[0].startswith(":spark HISTORY spark-bo spark-ori 1970-01-16T13:46:40.000Z :the disk")


def test_what_cannot_be_searched(network: Network):
    ori, bo = network.client("spark-ori", "#ops"), network.client("spark-bo")
    ori.send("MODE #ops +s", "PRIVMSG #ops :x")
    bo.send("HISTORY SEARCH #ops :x", "HISTORY SEARCH * :?!", "HISTORY SEARCH *")
    nothing = ":spark FAIL HISTORY INVALID_PARAMS SEARCH :There is nothing to search for"
    assert bo.lines() == [
        ":spark FAIL HISTORY INVALID_TARGET #ops :You cannot read that",
        nothing,
        nothing,
    ]


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0\r\n"), max_size=60))
def test_any_input_is_safe(ori: Client, query: str):
    ori.lines()
    ori.send(f"HISTORY SEARCH #ops :{query}")
    assert ori.lines()[-1].split(" ")[1] in ("HISTORYEND", "FAIL", "417")


@pytest.mark.parametrize(
    "query",
    [
        '"',
        '""',
        '"*',
        "*",
        "a*b",
        "from:",
        "before:x",
        "before:0001-01-01T00:00:00+23:59",
        '"a" OR "b',
        "text:a",
        "^a",
    ],
)
def test_operators_are_words(ori: Client, query: str):
    ori.lines()
    ori.send(f"HISTORY SEARCH #ops :{query} disk")
    assert ori.lines()[-1].startswith(":spark HISTORYEND")
