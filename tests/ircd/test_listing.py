"""RFC 2812 section 3.2.6 and ISUPPORT ELIST: LIST."""

import pytest
from support.network import Network


def listed(client, conditions: str = "") -> list[str]:
    client.lines()
    client.send(f"LIST {conditions}".strip())
    start, *channels, end = client.lines()
    assert start.split(" ")[1] == "321"
    assert end.split(" ")[1] == "323"
    return [line.split(" ")[3] for line in channels]


def test_channels_are_listed_with_size_and_topic():
    network = Network()
    ori = network.client("spark-ori", "#a", "#b")
    network.client("spark-bo", "#a")
    ori.send("TOPIC #a :all about a")
    ori.lines()
    ori.send("LIST")
    assert ori.lines() == [
        ":spark 321 spark-ori Channel :Users  Name",
        ":spark 322 spark-ori #a 2 :all about a",
        ":spark 322 spark-ori #b 1 :",
        ":spark 323 spark-ori :End of /LIST",
    ]


@pytest.mark.parametrize(
    ("conditions", "found"),
    [
        ("", ["#old", "#new", "#other"]),
        ("#OLD,#new", ["#old", "#new"]),
        ("#nope", []),
        ("*e*", ["#new", "#other"]),
        ("#o*,!*l*", ["#other"]),
        ("!#o*", ["#new"]),
        (">1", ["#old"]),
        ("<2", ["#new", "#other"]),
        (">0,<2,*n*", ["#new"]),
        ("C<5", ["#new", "#other"]),
        ("C>5", ["#old"]),
        ("c>1000", []),
        ("T<5", ["#other"]),
        ("T>5", ["#old"]),
        ("T>0", ["#old"]),
        ("#o* <2", ["#other"]),
        ("#o* >0,!*h*", ["#old"]),
    ],
)
def test_a_list_can_be_narrowed_down(conditions: str, found: list[str]):
    network = Network()
    ori = network.client("spark-ori", "#old")
    network.client("spark-bo", "#old")
    ori.send("TOPIC #old :x")
    network.clock.advance(600)
    ori.send("JOIN #new", "JOIN #other", "TOPIC #other :y")
    assert listed(ori, conditions) == found


def test_a_list_may_name_the_server_it_is_for():
    ori = Network().client("spark-ori", "#a")
    assert listed(ori, "#a spark") == ["#a"]
    ori.send("LIST #a nowhere.example")
    assert ori.lines() == [":spark 402 spark-ori nowhere.example :No such server"]


def test_a_secret_channel_is_listed_to_its_members():
    network = Network()
    ori, bo = network.client("spark-ori", "#a"), network.client("spark-bo")
    ori.send("MODE #a +s")
    assert listed(ori) == ["#a"]
    assert listed(bo) == listed(bo, "#a") == []
