"""The lists b, e and I of a channel (Modern IRC: channel modes; IRCv3 account-extban)."""

import pytest
from support.network import Network

from culture.config.ircd import Limits
from culture.ircd.model.ban_lists import complete_mask


def channel_of_two():
    network = Network()
    ori, bo = network.client("spark-ori", "#a"), network.client("spark-bo", "#a")
    ori.lines()
    return network, ori, bo


@pytest.mark.parametrize(
    ("text", "mask"),
    [
        ("ori", "ori!*@*"),
        ("*", "*!*@*"),
        ("ori!o", "ori!o@*"),
        ("ori!o@", "ori!o@*"),
        ("!o@h", "*!o@h"),
        ("o@h", "*!o@h"),
        ("@h", "*!*@h"),
        ("10.0.0.7", "*!*@10.0.0.7"),
        ("::1", "*!*@::1"),
        ("a!b@c", "a!b@c"),
        ("~a:ori", "~a:ori"),
        ("~m:ori", "~m:ori!*@*"),
        ("~m:~a:ori", "~m:~a:ori"),
        ("~m:", None),
        ("~a:", None),
        ("~x:ori", None),
        ("~a:a b", None),
        ("", None),
        (":a!b@c", None),
        ("a b", None),
        ("x" * 201, None),
    ],
)
def test_what_a_mask_leaves_out_is_a_star(text: str, mask: str | None):
    assert complete_mask(text) == mask


@pytest.mark.parametrize(
    ("letter", "row", "end", "text"),
    [
        ("b", "367", "368", "End of channel ban list"),
        ("e", "348", "349", "End of channel exception list"),
        ("I", "346", "347", "End of Channel Invite Exception List"),
    ],
)
def test_a_list_is_told_with_who_set_what_and_when(letter: str, row: str, end: str, text: str):
    network, ori, bo = channel_of_two()
    ori.send(f"MODE #a +{letter} eve")
    network.clock.advance(10)
    ori.send(f"MODE #a +{letter} *@10.0.0.7")
    assert bo.lines() == [
        f":spark-ori!ori@spark MODE #a +{letter} eve!*@*",
        f":spark-ori!ori@spark MODE #a +{letter} *!*@10.0.0.7",
    ]
    told = [
        f":spark {row} spark-bo #a eve!*@* spark-ori!ori@spark 1000000",
        f":spark {row} spark-bo #a *!*@10.0.0.7 spark-ori!ori@spark 1000010",
        f":spark {end} spark-bo #a :{text}",
    ]
    bo.send(f"MODE #a {letter}", f"MODE #a +{letter}")
    assert bo.lines() == told * 2


def test_a_list_is_told_once_however_often_one_asks_in_a_line():
    _, ori, _ = channel_of_two()
    ori.send("MODE #a bbbbeb")
    assert ori.numerics() == ["368", "349"]


def test_an_entry_is_set_once_and_removed_in_any_spelling():
    _, ori, _ = channel_of_two()
    ori.send("MODE #a +b [Eve]", "MODE #a +b {eve}!*@*", "MODE #a -b eve", "MODE #a -b {EVE}", "MODE #a b")
    assert ori.lines() == [
        ":spark-ori!ori@spark MODE #a +b [Eve]!*@*",
        ":spark-ori!ori@spark MODE #a -b [Eve]!*@*",
        ":spark 368 spark-ori #a :End of channel ban list",
    ]


def test_a_list_has_a_bound():
    network = Network(limits=Limits(list_entries=2))
    ori = network.client("spark-ori", "#a")
    ori.send("MODE #a +bbe a b c", "MODE #a -b+e a c")
    assert ori.lines() == [
        ":spark 478 spark-ori #a e :Channel list is full",
        ":spark-ori!ori@spark MODE #a +bb a!*@* b!*@*",
        ":spark-ori!ori@spark MODE #a -b+e a!*@* c!*@*",
    ]


def test_a_list_may_be_without_bound():
    network = Network(limits=Limits(list_entries=0))
    ori = network.client("spark-ori", "#a")
    ori.send(*(f"MODE #a +b nick{number}" for number in range(120)), "MODE #a b")
    assert ori.numerics().count("367") == 120


def test_who_may_not_change_a_list_may_read_it():
    network, ori, bo = channel_of_two()
    bo.send("MODE #a +b eve", "MODE #a b")
    assert bo.numerics() == ["482", "368"]
    ori.send("MODE #a +s")
    lea = network.client("spark-lea")
    lea.send("MODE #a b")
    assert lea.lines() == [":spark 403 spark-lea #a :No such channel"]


def test_what_is_no_mask_is_refused():
    _, ori, _ = channel_of_two()
    ori.send("MODE #a +b :a b", "MODE #a +b ~x:y")
    assert ori.lines() == [
        ":spark 696 spark-ori #a b * :Not a mask",
        ":spark 696 spark-ori #a b ~x:y :Not a mask",
    ]


def test_who_is_banned_neither_joins_nor_speaks_unless_exempt():
    network, ori, bo = channel_of_two()
    lea = network.client("spark-lea")
    ori.send("MODE #a +b *!*@spark")
    lea.send("JOIN #a")
    assert lea.lines() == [":spark 474 spark-lea #a :Cannot join channel (+b)"]
    bo.lines()
    bo.send("PRIVMSG #a :one", "NOTICE #a :two")
    assert bo.lines() == [":spark 404 spark-bo #a :Cannot send to channel (+b)"]
    ori.send("MODE #a +e spark-lea", "MODE #a +v spark-bo", "PRIVMSG #a :I may")
    lea.send("JOIN #a", "PRIVMSG #a :three")
    assert "474" not in lea.numerics()
    bo.lines()
    bo.send("PRIVMSG #a :four")
    assert bo.lines() == []
    assert [line.rpartition(":")[2] for line in ori.lines() if "PRIVMSG" in line] == ["three", "four"]


def test_a_new_nick_is_looked_up_again():
    _, ori, bo = channel_of_two()
    ori.send("MODE #a +b spark-eve")
    bo.send("PRIVMSG #a :one", "NICK spark-eve", "PRIVMSG #a :two", "NICK spark-bo", "PRIVMSG #a :three")
    said = [line.rpartition(":")[2] for line in ori.lines() if "PRIVMSG" in line]
    assert said == ["one", "three"]


def test_a_muted_user_joins_and_is_silent():
    network, ori, _ = channel_of_two()
    ori.send("MODE #a +b ~m:spark-lea")
    lea = network.client("spark-lea", "#a")
    lea.send("PRIVMSG #a :hm")
    assert lea.numerics() == ["404"]
    ori.send("MODE #a -b ~m:spark-lea")
    lea.lines()
    lea.send("PRIVMSG #a :hm")
    assert lea.lines() == []


def test_a_mask_may_mean_an_account():
    network, ori, _ = channel_of_two()
    ori.send("MODE #a +b ~a:lea")
    lea, kim = network.client("spark-lea"), network.client("spark-kim")
    kim.session.user.account = "Lea"
    lea.send("JOIN #a")
    kim.send("JOIN #a")
    assert lea.numerics()[0] == "JOIN"
    assert kim.numerics() == ["474"]


def test_an_invite_exception_replaces_an_invitation():
    network, ori, _ = channel_of_two()
    ori.send("MODE #a +iI spark-lea")
    lea, kim = network.client("spark-lea"), network.client("spark-kim")
    lea.send("JOIN #a")
    kim.send("JOIN #a")
    assert lea.numerics()[0] == "JOIN"
    assert kim.numerics() == ["473"]


def test_nothing_is_remembered_of_who_left():
    network, ori, bo = channel_of_two()
    ori.send("MODE #a +b eve")
    bo.send("PRIVMSG #a :hm", "PART #a")
    channel = network.ircd.state.find_channel("#a")
    assert channel is not None
    assert bo.session.user not in channel.masks._silenced


def test_nobody_is_muted_twice_over():
    ori = Network().client("spark-ori", "#a")
    ori.send("MODE #a +b ~m:~m:spark-bo")
    assert ori.numerics() == ["696"]
