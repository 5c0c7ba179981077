"""INVITE, KICK and what keeps one out of a channel (Modern IRC: INVITE, KICK and JOIN messages)."""

import pytest
from support.network import Network

from culture.config.ircd import Limits


def channel_of_two():
    network = Network()
    ori, bo = network.client("spark-ori", "#a"), network.client("spark-bo", "#a")
    ori.lines()
    return network, ori, bo


def test_an_operator_kicks_and_all_are_told_why():
    network, ori, bo = channel_of_two()
    ori.send("KICK #A spark-BO :enough")
    assert ori.lines() == bo.lines() == [":spark-ori!ori@spark KICK #a spark-bo :enough"]
    bo.send("PRIVMSG #a :hm")
    assert bo.numerics() == ["404"]
    ori.send("KICK #a spark-ori")
    assert ori.lines() == [":spark-ori!ori@spark KICK #a spark-ori :spark-ori"]
    assert not network.ircd.state.channels


def test_several_are_kicked_one_by_one():
    network, ori, _ = channel_of_two()
    network.client("spark-lea", "#a")
    network.client("spark-sam")
    ori.lines()
    ori.send("KICK #A SPARK-bo,spark-nobody,SPARK-sam,spark-lea :out")
    assert ori.lines() == [
        ":spark-ori!ori@spark KICK #a spark-bo :out",
        ":spark 401 spark-ori spark-nobody :No such nick/channel",
        ":spark 441 spark-ori spark-sam #a :They aren't on that channel",
        ":spark-ori!ori@spark KICK #a spark-lea :out",
    ]


def test_each_may_be_kicked_from_a_channel_of_its_own():
    network, ori, bo = channel_of_two()
    ori.send("JOIN #b")
    lea = network.client("spark-lea", "#b")
    for client in (ori, bo):
        client.lines()
    ori.send("KICK #a,#nope,#b spark-bo,spark-bo,spark-lea :out", "KICK #a,#b,#c spark-ori,spark-bo")
    assert ori.lines() == [
        ":spark-ori!ori@spark KICK #a spark-bo :out",
        ":spark 403 spark-ori #nope :No such channel",
        ":spark-ori!ori@spark KICK #b spark-lea :out",
        ":spark 461 spark-ori KICK :Not enough parameters",
    ]
    assert bo.lines() == [":spark-ori!ori@spark KICK #a spark-bo :out"]
    assert lea.lines() == [":spark-ori!ori@spark KICK #b spark-lea :out"]
    ori.send("KICK #a,#b spark-ori")
    assert ori.lines() == [
        ":spark-ori!ori@spark KICK #a spark-ori :spark-ori",
        ":spark-ori!ori@spark KICK #b spark-ori :spark-ori",
    ]


def test_who_may_not_kick():
    network, ori, bo = channel_of_two()
    lea = network.client("spark-lea")
    bo.send("KICK #a spark-ori", "KICK #nope spark-ori", "KICK #a")
    assert bo.lines() == [
        ":spark 482 spark-bo #a :You're not channel operator",
        ":spark 403 spark-bo #nope :No such channel",
        ":spark 461 spark-bo KICK :Not enough parameters",
    ]
    lea.send("KICK #a spark-bo")
    assert lea.lines() == [":spark 442 spark-lea #a :You're not on that channel"]
    ori.send("KICK #a spark-lea")
    assert ori.lines() == [":spark 441 spark-ori spark-lea #a :They aren't on that channel"]


def test_the_reason_of_a_kick_has_a_bound():
    network = Network(limits=Limits(kick_length=5))
    ori = network.client("spark-ori", "#a")
    ori.send("KICK #a spark-ori :ééééé")
    assert ori.lines() == [":spark-ori!ori@spark KICK #a spark-ori :éé"]


def test_half_operators_kick_those_below_them():
    network, ori, bo = channel_of_two()
    network.client("spark-lea", "#a")
    ori.send("MODE #a +h spark-bo")
    bo.lines()
    bo.send("KICK #a spark-ori", "KICK #a spark-lea")
    assert bo.lines() == [
        ":spark 482 spark-bo #a :You're not channel operator",
        ":spark-bo!bo@spark KICK #a spark-lea :spark-bo",
    ]


def test_an_invitation_opens_a_channel_once():
    network, ori, _ = channel_of_two()
    lea = network.client("spark-lea")
    ori.send("MODE #a +i")
    ori.lines()
    lea.send("JOIN #a")
    assert lea.lines() == [":spark 473 spark-lea #a :Cannot join channel (+i)"]
    ori.send("INVITE spark-LEA #A")
    assert ori.lines() == [":spark 341 spark-ori spark-lea #a"]
    assert lea.lines() == [":spark-ori!ori@spark INVITE spark-lea #a"]
    lea.send("INVITE", "JOIN #a", "PART #a", "INVITE", "JOIN #a")
    assert [line for line in lea.lines() if " 353 " not in line and " 366 " not in line] == [
        ":spark 336 spark-lea #a",
        ":spark 337 spark-lea :End of /INVITE list",
        ":spark-lea!lea@spark JOIN #a",
        ":spark-lea!lea@spark PART #a",
        ":spark 337 spark-lea :End of /INVITE list",
        ":spark 473 spark-lea #a :Cannot join channel (+i)",
    ]


def test_who_may_not_invite_whom():
    network, ori, bo = channel_of_two()
    lea = network.client("spark-lea")
    bo.send("INVITE spark-ori #a", "INVITE spark-nobody #a", "INVITE spark-lea #nope", "INVITE spark-lea")
    assert bo.lines() == [
        ":spark 443 spark-bo spark-ori #a :is already on channel",
        ":spark 401 spark-bo spark-nobody :No such nick/channel",
        ":spark 403 spark-bo #nope :No such channel",
        ":spark 461 spark-bo INVITE :Not enough parameters",
    ]
    lea.send("INVITE spark-lea #a")
    assert lea.lines() == [":spark 442 spark-lea #a :You're not on that channel"]
    ori.send("MODE #a +i")
    bo.lines()
    bo.send("INVITE spark-lea #a")
    assert bo.lines() == [":spark 482 spark-bo #a :You're not channel operator"]


def test_members_who_asked_for_it_learn_of_invitations():
    network, ori, bo = channel_of_two()
    lea = network.client("spark-lea", "#a", caps="invite-notify")
    network.client("spark-kim")
    ori.lines()
    bo.lines()
    ori.send("INVITE spark-kim #a")
    assert lea.lines() == [":spark-ori!ori@spark INVITE spark-kim #a"]
    assert bo.lines() == []
    assert ori.numerics() == ["341"]


def test_only_an_operators_invitation_passes_a_ban():
    network, ori, bo = channel_of_two()
    lea = network.client("spark-lea")
    ori.send("MODE #a +bkl spark-lea!*@* secret 2")
    bo.send("INVITE spark-lea #a")
    lea.send("JOIN #a")
    assert lea.numerics() == ["INVITE", "474"]
    ori.send("INVITE spark-lea #a")
    lea.send("JOIN #a")
    assert lea.numerics() == ["INVITE", "JOIN", "353", "366"]


def test_a_members_invitation_does_not_outlast_an_operators_decision():
    # RFC 2811 section 4.2.2: who was invited by a channel operator.
    network, ori, bo = channel_of_two()
    lea = network.client("spark-lea")
    bo.send("INVITE spark-lea #a")
    ori.send("MODE #a +i")
    lea.send("JOIN #a")
    assert lea.numerics() == ["INVITE", "473"]
    ori.send("INVITE spark-lea #a")
    lea.send("JOIN #a")
    assert lea.numerics() == ["INVITE", "JOIN", "353", "366"]


def test_an_invitation_ends_with_its_channel():
    network = Network()
    ori, lea = network.client("spark-ori", "#a", "#b"), network.client("spark-lea")
    ori.send("INVITE spark-lea #a", "PART #a", "JOIN #a", "MODE #a +i")
    lea.lines()
    lea.send("INVITE", "JOIN #a")
    assert lea.numerics() == ["337", "473"]
    ori.send("INVITE spark-lea #b")
    assert [channel.name for channel in lea.session.user.invites] == ["#b"]


def test_a_key_has_to_be_given_for_its_channel():
    network, ori, _ = channel_of_two()
    ori.send("MODE #a +k sesame")
    lea = network.client("spark-lea")
    lea.send("JOIN #a", "JOIN #a wrong", "JOIN #b,#a x,sesame")
    assert [line for line in lea.lines() if " 475 " in line or " JOIN " in line] == [
        ":spark 475 spark-lea #a :Cannot join channel (+k)",
        ":spark 475 spark-lea #a :Cannot join channel (+k)",
        ":spark-lea!lea@spark JOIN #b",
        ":spark-lea!lea@spark JOIN #a",
    ]


def test_a_full_channel_takes_nobody():
    network, ori, bo = channel_of_two()
    ori.send("MODE #a +l 2")
    lea = network.client("spark-lea")
    lea.send("JOIN #a")
    assert lea.lines() == [":spark 471 spark-lea #a :Cannot join channel (+l)"]
    bo.send("PART #a")
    lea.send("JOIN #a")
    assert lea.numerics()[0] == "JOIN"


def test_a_channel_may_want_accounts():
    network, ori, _ = channel_of_two()
    ori.send("MODE #a +R")
    lea = network.client("spark-lea")
    lea.send("JOIN #a")
    assert lea.numerics() == ["477"]
    lea.session.user.account = "lea"
    lea.send("JOIN #a")
    assert lea.numerics()[0] == "JOIN"


@pytest.mark.parametrize("command", ["NAMES #a", "LIST", "LIST #a", "WHO #a", "WHOIS spark-ori", "TOPIC #a"])
def test_a_secret_channel_is_seen_by_its_members_alone(command: str):
    network, ori, bo = channel_of_two()
    ori.send("MODE #a +s", "TOPIC #a :hush")
    lea = network.client("spark-lea")
    bo.lines()
    bo.send(command)
    lea.send(command)
    assert any("@spark-ori" in line or "hush" in line or "#a" in line for line in bo.lines())
    told = [line for line in lea.lines() if " 366 " not in line and " 315 " not in line]
    assert not any("hush" in line or ("#a" in line and " 403 " not in line) for line in told)


def test_names_says_that_a_channel_is_secret():
    _, ori, _ = channel_of_two()
    ori.send("MODE #a +s", "NAMES #a")
    assert ori.lines()[1] == ":spark 353 spark-ori @ #a :@spark-ori spark-bo"
