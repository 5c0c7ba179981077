"""RFC 2812 section 3.6.1 and IRCv3 WHOX: WHO."""

import pytest
from support.network import Client, Network

from culture.ircd.model.user import UserMode


def make_operator(network: Network, client: Client) -> None:
    network.ircd.state.set_user_mode(client.session.user, UserMode.OPERATOR, present=True)


def test_who_lists_the_members_of_a_channel():
    network = Network()
    network.client("spark-ori", "#a")
    bo = network.client("spark-bo", "#a")
    bo.send("WHO #A")
    assert bo.lines() == [
        ":spark 352 spark-bo #a ori spark spark spark-ori H@ :0 spark-ori",
        ":spark 352 spark-bo #a bo spark spark spark-bo H :0 spark-bo",
        ":spark 315 spark-bo #A :End of WHO list",
    ]


def test_who_finds_a_nick_a_mask_or_nobody():
    network = Network()
    ori = network.client("spark-ori")
    network.client("spark-claude")
    network.client("spark-codex")
    ori.send("WHO spark-CLAUDE")
    assert ori.lines() == [
        ":spark 352 spark-ori * claude spark spark spark-claude H :0 spark-claude",
        ":spark 315 spark-ori spark-CLAUDE :End of WHO list",
    ]
    ori.send("WHO spark-c*")
    assert ori.numerics() == ["352", "352", "315"]
    ori.send("WHO spark-c?dex")
    assert ori.numerics() == ["352", "315"]
    ori.send("WHO nobody", "WHO #nope", "WHO")
    assert ori.numerics() == ["315", "315", "352", "352", "352", "315"]
    ori.send("WHO :no such thing")
    assert ori.lines() == [":spark 315 spark-ori * :End of WHO list"]


def test_the_flags_tell_who_is_away_and_who_runs_the_server():
    network = Network()
    ori, bo = network.client("spark-ori", "#a"), network.client("spark-bo", "#a", caps="multi-prefix")
    make_operator(network, ori)
    ori.send("AWAY :x", "MODE spark-ori +B", "MODE #a +v spark-ori")
    bo.lines()
    bo.send("WHO #a")
    assert bo.lines()[0] == ":spark 352 spark-bo #a ori spark spark spark-ori G*@+B :0 spark-ori"


def test_who_with_o_finds_operators_of_the_server():
    network = Network()
    ori, bo = network.client("spark-ori", "#a"), network.client("spark-bo", "#a")
    make_operator(network, ori)
    for mask in ("#a", "*", "spark-ori"):
        bo.lines()
        bo.send(f"WHO {mask} o")
        (found, end) = bo.lines()
        assert " spark-ori H*" in found
        assert end == f":spark 315 spark-bo {mask} :End of WHO list"
    bo.send("WHO spark-bo o")
    assert bo.numerics() == ["315"]


@pytest.mark.parametrize(
    ("mask", "found"),
    [
        ("spark-ori!*@*", True),
        ("ori@SPARK", True),
        ("*!o?i@*", True),
        ("spark-ori!bo@*", False),
        ("*@thor", False),
        ("ori", True),
        ("SPARK", True),
        ("s*k-ori", True),
        ("s*i@s", False),
    ],
)
def test_a_mask_is_compared_with_all_of_somebody_or_with_any_part(mask: str, found: bool):
    network = Network()
    bo = network.client("spark-bo")
    network.client("spark-ori")
    bo.send(f"WHO {mask}")
    *lines, end = bo.lines()
    assert any(" spark-ori H " in line for line in lines) is found
    assert end == f":spark 315 spark-bo {mask} :End of WHO list"


def test_a_mask_with_many_stars_costs_nothing():
    network = Network()
    ori = network.client("spark-ori")
    network.client("spark-" + "a" * 50)
    ori.send("WHO " + "*a" * 25 + "b")
    assert ori.numerics() == ["315"]


def test_a_mask_finds_a_bounded_number_of_people():
    network = Network(nick_policy="open")
    clients = [network.client(f"n{number}") for number in range(1001)]
    clients[0].send("WHO n*")
    assert clients[0].numerics() == ["352"] * 1000 + ["315"]
    make_operator(network, clients[0])
    clients[0].send("WHO n*")
    assert len(clients[0].lines()) == 1002


def test_the_invisible_are_found_by_those_who_share_a_channel_and_by_name():
    network = Network()
    shy, friend = network.client("spark-shy", "#a"), network.client("spark-friend", "#a")
    stranger = network.client("spark-stranger")
    shy.send("MODE spark-shy +i")
    for client, found in ((friend, True), (stranger, False)):
        client.lines()
        client.send("WHO spark-s*")
        assert any("spark-shy" in line for line in client.lines()) is found
    stranger.send("WHO spark-shy", "NAMES #a", "WHO #a")
    lines = stranger.lines()
    assert "spark-shy" in lines[0]
    assert not any("spark-shy" in line for line in lines[2:])


def test_a_secret_channel_is_not_listed_to_strangers():
    network = Network()
    ori, bo = network.client("spark-ori", "#a"), network.client("spark-bo")
    ori.send("MODE #a +s", "WHO #a")
    assert ori.numerics()[1:] == ["352", "315"]
    bo.send("WHO #a")
    assert bo.numerics() == ["315"]


@pytest.mark.parametrize(
    ("fields", "answer"),
    [
        ("%tcuihsnfdlaor,42", "42 #a ori 255.255.255.255 spark spark spark-ori H@ 0 7 0 n/a :Ori of Spark"),
        ("%ralfnshiuct,42", "42 #a ori 255.255.255.255 spark spark spark-ori H@ 7 0 :Ori of Spark"),
        ("%na", "spark-ori 0"),
        ("%nt,7", "7 spark-ori"),
        ("%nr", "spark-ori :Ori of Spark"),
        ("%nZ", "spark-ori"),
    ],
)
def test_whox_sends_exactly_the_fields_that_were_asked_for_in_their_order(fields: str, answer: str):
    network = Network()
    ori = network.client("spark-ori", "#a", caps="setname")
    ori.send("SETNAME :Ori of Spark")
    ori.lines()
    network.clock.advance(7)
    ori.send(f"WHO #a {fields}")
    assert ori.lines() == [f":spark 354 spark-ori {answer}", ":spark 315 spark-ori #a :End of WHO list"]


def test_whox_of_a_nick_has_no_channel_and_tells_the_account():
    network = Network()
    ori = network.client("spark-ori", "#a")
    ori.session.user.account = "ori"
    ori.send("WHO spark-ori %cna")
    assert ori.lines()[0] == ":spark 354 spark-ori * spark-ori ori"
