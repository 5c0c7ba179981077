"""RFC 2812 sections 3.6.2 and 3.6.3: WHOIS and WHOWAS."""

import pytest
from support.network import Network

from culture.config.ircd import Limits
from culture.ircd.model.user import UserMode
from culture.ircd.model.whowas import MOST


def test_whois_tells_who_somebody_is():
    network = Network()
    network.client("spark-ori", "#a", "#b")
    bo = network.client("spark-bo")
    network.clock.advance(7)
    bo.send("WHOIS SPARK-ori")
    assert bo.lines() == [
        ":spark 311 spark-bo spark-ori ori spark * :spark-ori",
        ":spark 319 spark-bo spark-ori :@#a @#b",
        ":spark 312 spark-bo spark-ori spark :Culture IRC server",
        ":spark 317 spark-bo spark-ori 7 1000000 :seconds idle, signon time",
        ":spark 318 spark-bo SPARK-ori :End of /WHOIS list",
    ]


@pytest.mark.parametrize(
    ("sent", "idle"), [("PRIVMSG #a :hi", "0"), ("NOTICE #a :hi", "7"), ("@+typing=active TAGMSG #a", "7")]
)
def test_what_programs_send_by_themselves_shows_nobody_at_work(sent: str, idle: str):
    network = Network()
    ori, bo = network.client("spark-ori", "#a", caps="message-tags"), network.client("spark-bo")
    network.clock.advance(7)
    ori.send(sent)
    bo.send("WHOIS spark-ori")
    assert bo.lines()[3] == f":spark 317 spark-bo spark-ori {idle} 1000000 :seconds idle, signon time"


def test_whois_tells_what_is_special_about_somebody():
    network = Network()
    ori, bo = network.client("spark-ori"), network.client("spark-bo")
    ori.send("AWAY :lunch")
    ori.session.user.account = "ori"
    network.ircd.state.set_user_mode(ori.session.user, UserMode.OPERATOR, present=True)
    ori.session.is_secure = True
    bo.send("WHOIS spark-ori")
    assert bo.lines()[2:6] == [
        ":spark 301 spark-bo spark-ori :lunch",
        ":spark 313 spark-bo spark-ori :is an IRC operator",
        ":spark 330 spark-bo spark-ori ori :is logged in as",
        ":spark 671 spark-bo spark-ori :is using a secure connection",
    ]


def test_where_somebody_comes_from_is_told_to_themselves_and_to_operators():
    network = Network()
    ori, bo = network.client("spark-ori"), network.client("spark-bo")
    ori.send("MODE spark-ori +i", "WHOIS spark-ori")
    assert [line for line in ori.lines() if " 37" in line] == [
        ":spark 378 spark-ori spark-ori :is connecting from *@test test",
        ":spark 379 spark-ori spark-ori :is using modes +i",
    ]
    ori.session.fingerprint = "ab12"
    bo.send("WHOIS spark-ori")
    assert not {"276", "378", "379"} & set(bo.numerics())
    network.ircd.state.set_user_mode(bo.session.user, UserMode.OPERATOR, present=True)
    bo.send("WHOIS spark-ori")
    assert {"276", "378", "379"} <= set(bo.numerics())
    ori.send("WHOIS spark-ori")
    assert ":spark 276 spark-ori spark-ori :has client certificate fingerprint ab12" in ori.lines()


@pytest.mark.parametrize(
    ("peer", "told"),
    [
        ("192.0.2.7:4711", "192.0.2.7 192.0.2.7"),
        ("[2001:db8::7]:4711", "2001:db8::7 2001:db8::7"),
        ("unix socket", "spark unix socket"),
    ],
)
def test_an_address_is_told_without_its_port(peer: str, told: str):
    ori = Network().client("spark-ori")
    ori.session.peer = peer
    ori.send("WHOIS spark-ori")
    assert f":spark 378 spark-ori spark-ori :is connecting from *@{told}" in ori.lines()


def test_channels_are_told_to_those_who_may_know_them():
    network = Network()
    ori = network.client("spark-ori", "#open", "#secret", "#shared")
    bo = network.client("spark-bo", "#shared")
    ori.send("MODE #secret +s")
    bo.send("WHOIS spark-ori")
    assert ":spark 319 spark-bo spark-ori :@#open @#shared" in bo.lines()
    ori.send("MODE spark-ori +i")
    bo.send("WHOIS spark-ori")
    assert ":spark 319 spark-bo spark-ori :@#shared" in bo.lines()
    ori.lines()
    ori.send("WHOIS spark-ori")
    assert ":spark 319 spark-ori spark-ori :@#open @#secret @#shared" in ori.lines()


def test_a_list_is_answered_in_order_and_ended_once():
    network = Network(limits=Limits(targets=2))
    bo = network.client("spark-bo")
    network.client("spark-ori")
    bo.send("WHOIS spark-no,spark-ori,spark-bo")
    lines = bo.lines()
    assert [line.split(" ")[1] for line in lines] == ["401", "311", "312", "317", "318"]
    assert lines[-1] == ":spark 318 spark-bo spark-no,spark-ori,spark-bo :End of /WHOIS list"


def test_whois_of_nobody_and_of_a_server():
    network = Network()
    bo = network.client("spark-bo")
    network.client("spark-ori")
    bo.send("WHOIS spark-no", "WHOIS", "WHOIS spark spark-ori", "WHOIS spark-ori spark-ori")
    numerics = bo.numerics()
    assert numerics[:3] == ["401", "318", "431"]
    assert numerics[3:] == ["311", "312", "317", "318"] * 2
    bo.send("WHOIS thor spark-ori", "WHOIS Spark-no spark-no", "WHOIS ,", "WHOWAS ,")
    assert bo.lines() == [
        ":spark 402 spark-bo thor :No such server",
        ":spark 318 spark-bo spark-ori :End of /WHOIS list",
        ":spark 401 spark-bo spark-no :No such nick/channel",
        ":spark 318 spark-bo spark-no :End of /WHOIS list",
        ":spark 431 spark-bo :No nickname given",
        ":spark 431 spark-bo :No nickname given",
    ]


def test_what_was_asked_is_repeated_as_far_as_the_answer_has_room_for_it():
    bo = Network().client("spark-bo")
    bo.send(f"WHOIS {'x' * 300}", f"WHOIS {'é' * 240}", f"METADATA {'x' * 480} LIST")
    lines = bo.lines()
    assert [line.rpartition(" :")[2] for line in lines] == [
        *["No such nick/channel", "End of /WHOIS list"] * 2,
        "There is no such channel or nick",
    ]
    assert f" {'x' * 300} " in lines[1]
    assert f" {'é' * 150} " in lines[3]


def test_whowas_remembers_who_left_and_who_took_another_nick():
    network = Network()
    bo = network.client("spark-bo")
    network.client("spark-ori").send("QUIT")
    network.clock.advance(60)
    other = network.client("spark-ori")
    other.send("NICK spark-other")
    bo.send("WHOWAS SPARK-ori")
    assert bo.lines() == [
        ":spark 314 spark-bo spark-ori ori spark * :spark-ori",
        ":spark 312 spark-bo spark-ori spark :1970-01-12T13:47:40.000Z",
        ":spark 314 spark-bo spark-ori ori spark * :spark-ori",
        ":spark 312 spark-bo spark-ori spark :1970-01-12T13:46:40.000Z",
        ":spark 369 spark-bo SPARK-ori :End of WHOWAS",
    ]
    for count, found in (("1", 1), ("2", 2), ("0", 2), ("-1", 2), ("x", 2)):
        bo.send(f"WHOWAS spark-ori {count}")
        assert bo.numerics().count("314") == found


def test_whowas_of_nobody():
    network = Network()
    bo = network.client("spark-bo")
    bo.send("WHOWAS spark-bo", "WHOWAS", "WHOWAS spark-bo 1 thor")
    assert bo.lines() == [
        ":spark 406 spark-bo spark-bo :There was no such nickname",
        ":spark 369 spark-bo spark-bo :End of WHOWAS",
        ":spark 431 spark-bo :No nickname given",
        ":spark 402 spark-bo thor :No such server",
        ":spark 369 spark-bo spark-bo :End of WHOWAS",
    ]


def test_the_past_is_bounded():
    network = Network(nick_policy="open")
    ori = network.client("a")
    for number in range(MOST + 1):
        ori.send(f"NICK n{number}")
    ori.lines()
    ori.send("WHOWAS a", f"WHOWAS n{MOST - 1}")
    assert ori.numerics() == ["406", "369", "314", "312", "369"]
