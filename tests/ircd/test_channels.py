"""RFC 2812 section 3.2: JOIN, PART, TOPIC, NAMES, LIST, and who sees what."""

import pytest
from support.network import Network

from culture.config.ircd import Limits


def test_a_join_is_told_to_all_and_the_first_is_operator():
    network = Network()
    ori = network.client("spark-ori")
    ori.send("JOIN #ops")
    assert ori.lines() == [
        ":spark-ori!ori@spark JOIN #ops",
        ":spark 353 spark-ori = #ops :@spark-ori",
        ":spark 366 spark-ori #ops :End of /NAMES list",
    ]
    bo = network.client("spark-bo")
    bo.send("JOIN #OPS")
    assert ori.lines() == [":spark-bo!bo@spark JOIN #ops"]
    assert bo.lines()[1] == ":spark 353 spark-bo = #ops :@spark-ori spark-bo"


def test_a_list_of_channels_is_joined_one_by_one_and_one_refusal_stops_nothing():
    network = Network()
    ori = network.client("spark-ori")
    ori.send("JOIN #a,nope,#b,#A,,#c")
    joined = [line for line in ori.lines() if " JOIN " in line or " 403 " in line]
    assert joined == [
        ":spark-ori!ori@spark JOIN #a",
        ":spark 403 spark-ori nope :No such channel",
        ":spark-ori!ori@spark JOIN #b",
        ":spark-ori!ori@spark JOIN #c",
    ]
    assert set(network.ircd.state.channels) == {"#a", "#b", "#c"}


@pytest.mark.parametrize(
    "name", ["#", "#a b", "#a\x07b", "#" + "x" * 64, "#" + "é" * 32, "&local", "#a:b", "#\x02bold"]
)
def test_what_is_no_channel_cannot_be_joined(name: str):
    network = Network()
    ori = network.client("spark-ori")
    ori.send(f"JOIN :{name}")
    assert ori.numerics() == ["403"]
    assert not network.ircd.state.channels


def test_joining_twice_says_nothing():
    ori = Network().client("spark-ori", "#ops")
    ori.send("JOIN #ops")
    assert ori.lines() == []


def test_join_0_leaves_everything():
    network = Network()
    ori, bo = network.client("spark-ori", "#a", "#b"), network.client("spark-bo", "#a")
    ori.lines()
    ori.send("JOIN 0")
    assert ori.lines() == [":spark-ori!ori@spark PART #a", ":spark-ori!ori@spark PART #b"]
    assert bo.lines() == [":spark-ori!ori@spark PART #a"]


def test_there_is_a_bound_to_how_many_channels_one_is_in():
    network = Network(limits=Limits(channels_per_client=2))
    ori = network.client("spark-ori", "#a", "#b")
    ori.send("JOIN #c")
    assert ori.lines() == [":spark 405 spark-ori #c :You have joined too many channels"]


def test_a_part_is_told_with_its_reason_and_an_empty_channel_is_forgotten():
    network = Network()
    ori, bo = network.client("spark-ori", "#a"), network.client("spark-bo", "#a")
    ori.lines()
    ori.send("PART #A :so long")
    assert ori.lines() == bo.lines() == [":spark-ori!ori@spark PART #a :so long"]
    bo.send("PART #a")
    assert not network.ircd.state.channels


def test_parting_from_where_one_is_not():
    network = Network()
    network.client("spark-bo", "#a")
    ori = network.client("spark-ori")
    ori.send("PART #a,#nope")
    assert ori.lines() == [
        ":spark 442 spark-ori #a :You're not on that channel",
        ":spark 403 spark-ori #nope :No such channel",
    ]


def test_a_quit_is_seen_once_by_everyone_who_shared_a_channel():
    network = Network()
    ori = network.client("spark-ori", "#a", "#b")
    bo, lea = network.client("spark-bo", "#a", "#b"), network.client("spark-lea", "#c")
    ori.lines()
    ori.send("QUIT :good night")
    assert ori.lines() == ["ERROR :Closing Link: spark (Quit: good night)"]
    assert bo.lines() == [":spark-ori!ori@spark QUIT :Quit: good night"]
    assert lea.lines() == []
    assert ori.is_closed


def test_without_a_reason_others_see_that_somebody_meant_to_leave():
    network = Network()
    ori, bo = network.client("spark-ori", "#a"), network.client("spark-bo", "#a")
    ori.send("QUIT")
    assert bo.lines() == [":spark-ori!ori@spark QUIT :Quit: "]


@pytest.mark.parametrize("line", ["JOIN", "JOIN :", "JOIN ,", "PART", "PART :", "KICK #a", "KICK #a :"])
def test_a_list_of_nothing_is_too_few_parameters(line: str):
    ori = Network().client("spark-ori", "#a")
    ori.send(line)
    assert ori.lines() == [f":spark 461 spark-ori {line[:4]} :Not enough parameters"]


@pytest.mark.parametrize(
    ("asked", "told"), [("nope", "nope"), (":no pe", "*"), ("", "*"), ("#b,#c", "#b,#c")]
)
def test_names_of_what_is_no_channel_end_at_once(asked: str, told: str):
    ori = Network().client("spark-ori", "#a")
    ori.send(f"NAMES {asked}".strip())
    assert ori.lines()[0] == f":spark 366 spark-ori {told} :End of /NAMES list"


def test_a_dropped_connection_is_seen_as_quit():
    network = Network()
    ori, bo = network.client("spark-ori", "#a"), network.client("spark-bo", "#a")
    ori.drop("Connection reset by peer")
    assert bo.lines() == [":spark-ori!ori@spark QUIT :Connection reset by peer"]
    bo.send("NAMES #a", "NICK spark-ori")
    assert bo.lines()[0] == ":spark 353 spark-bo = #a :spark-bo"


def test_a_nick_change_is_seen_exactly_once_by_others_and_by_oneself():
    network = Network()
    ori, bo = network.client("spark-ori", "#a", "#b"), network.client("spark-bo", "#a", "#b")
    ori.lines()
    ori.send("NICK spark-Lea")
    assert ori.lines() == bo.lines() == [":spark-ori!ori@spark NICK :spark-Lea"]
    bo.send("PRIVMSG spark-lea :hi", "PRIVMSG spark-ori :hi")
    assert ori.lines() == [":spark-bo!bo@spark PRIVMSG spark-Lea :hi"]
    assert bo.numerics() == ["401"]


def test_one_may_change_the_case_of_ones_nick_but_saying_the_same_does_nothing():
    ori = Network().client("spark-ori")
    ori.send("NICK spark-Ori", "NICK spark-Ori")
    assert ori.lines() == [":spark-ori!ori@spark NICK :spark-Ori"]


def test_a_topic_is_set_by_operators_read_by_all_and_kept_with_who_and_when():
    network = Network()
    ori, bo = network.client("spark-ori", "#a"), network.client("spark-bo", "#a")
    ori.lines()
    bo.send("TOPIC #a :mine")
    assert bo.lines() == [":spark 482 spark-bo #a :You're not channel operator"]
    ori.send("TOPIC #a :disk is full")
    assert ori.lines() == bo.lines() == [":spark-ori!ori@spark TOPIC #a :disk is full"]
    lea = network.client("spark-lea")
    lea.send("TOPIC #a")
    assert lea.lines() == [
        ":spark 332 spark-lea #a :disk is full",
        ":spark 333 spark-lea #a spark-ori!ori@spark 1000000",
    ]
    lea.send("TOPIC #a :x", "TOPIC #nope")
    assert lea.numerics() == ["442", "403"]
    ori.send("TOPIC #a :", "TOPIC #a")
    assert ori.lines() == [":spark-ori!ori@spark TOPIC #a :", ":spark 331 spark-ori #a :No topic is set"]


def test_a_topic_that_is_too_long_is_cut_between_characters():
    network = Network(limits=Limits(topic_length=10))
    ori = network.client("spark-ori", "#a")
    ori.send("TOPIC #a :ééééééé")
    assert ori.lines() == [":spark-ori!ori@spark TOPIC #a :ééééé"]


def test_names_of_a_large_channel_take_several_lines_that_fit():
    network = Network()
    nicks = [f"spark-{'n' * 40}{i}" for i in range(50)]
    for nick in nicks:
        network.client(nick, "#a")
    ori = network.client("spark-ori")
    ori.send("NAMES #a")
    *names, end = ori.lines()
    assert end == ":spark 366 spark-ori #a :End of /NAMES list"
    assert len(names) > 1
    assert all(len(line.encode()) <= 510 for line in names)
    listed = [name.lstrip("@") for line in names for name in line.partition(" :")[2].split(" ")]
    assert listed == nicks


def test_names_of_nothing_ends_at_once():
    ori = Network().client("spark-ori")
    ori.send("NAMES #nope", "NAMES")
    assert ori.lines() == [
        ":spark 366 spark-ori #nope :End of /NAMES list",
        ":spark 366 spark-ori * :End of /NAMES list",
    ]


def test_names_shows_all_prefixes_and_masks_to_those_who_asked():
    network = Network()
    ori = network.client("spark-ori", "#a")
    ori.send("MODE #a +v spark-ori")
    bo = network.client("spark-bo", "#a", caps="multi-prefix userhost-in-names")
    bo.send("NAMES #a")
    assert bo.lines()[0] == ":spark 353 spark-bo = #a :@+spark-ori!ori@spark spark-bo!bo@spark"


def test_list_shows_channels_with_their_size_and_topic():
    network = Network()
    ori = network.client("spark-ori", "#a", "#b")
    network.client("spark-bo", "#a")
    ori.send("TOPIC #a :hello")
    ori.lines()
    ori.send("LIST", "LIST #b,#nope")
    assert ori.lines() == [
        ":spark 321 spark-ori Channel :Users  Name",
        ":spark 322 spark-ori #a 2 :hello",
        ":spark 322 spark-ori #b 1 :",
        ":spark 323 spark-ori :End of /LIST",
        ":spark 321 spark-ori Channel :Users  Name",
        ":spark 322 spark-ori #b 1 :",
        ":spark 323 spark-ori :End of /LIST",
    ]


def test_names_of_several_channels_end_once():
    """RFC 2812 section 3.2.5: RPL_ENDOFNAMES ends the answer to one NAMES, whatever it named."""
    network = Network()
    ori = network.client("spark-ori", "#a", "#b")
    ori.send("NAMES #a,#B", "NAMES #a,#nowhere", "NAMES #A", "NAMES #nowhere", "NAMES")
    assert ori.lines() == [
        ":spark 353 spark-ori = #a :@spark-ori",
        ":spark 353 spark-ori = #b :@spark-ori",
        ":spark 366 spark-ori #a,#B :End of /NAMES list",
        ":spark 353 spark-ori = #a :@spark-ori",
        ":spark 366 spark-ori #a,#nowhere :End of /NAMES list",
        ":spark 353 spark-ori = #a :@spark-ori",
        ":spark 366 spark-ori #a :End of /NAMES list",
        ":spark 366 spark-ori #nowhere :End of /NAMES list",
        ":spark 366 spark-ori * :End of /NAMES list",
    ]
