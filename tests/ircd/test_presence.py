"""RFC 2812 section 4: AWAY, ISON, USERHOST; IRCv3 away-notify, pre-away, setname and bot-mode."""

import pytest
from support.network import Network

from culture.config.ircd import Limits


def test_one_goes_away_and_comes_back():
    ori = Network().client("spark-ori")
    ori.send("AWAY :lunch", "AWAY", "AWAY :")
    assert ori.lines() == [
        ":spark 306 spark-ori :You have been marked as being away",
        ":spark 305 spark-ori :You are no longer marked as being away",
        ":spark 305 spark-ori :You are no longer marked as being away",
    ]


def test_whoever_writes_to_somebody_away_learns_it_and_the_message_arrives():
    network = Network()
    ori, bo = network.client("spark-ori", "#a"), network.client("spark-bo", "#a")
    bo.send("AWAY :lunch")
    bo.lines()
    ori.lines()
    ori.send("PRIVMSG spark-bo :hi", "NOTICE spark-bo :ho", "PRIVMSG #a :all")
    assert ori.lines() == [":spark 301 spark-ori spark-bo :lunch"]
    assert [line.rpartition(":")[2] for line in bo.lines()] == ["hi", "ho", "all"]


def test_the_others_in_a_channel_are_told_who_is_away_if_they_asked():
    network = Network()
    ori = network.client("spark-ori", "#a", caps="away-notify")
    bo, lea = network.client("spark-bo", "#a"), network.client("spark-lea", "#a")
    network.client("spark-far", "#far", caps="away-notify")
    ori.lines()
    lea.lines()
    bo.send("AWAY :lunch", "AWAY :lunch", "AWAY :tea", "AWAY")
    assert ori.lines() == [
        ":spark-bo!bo@spark AWAY :lunch",
        ":spark-bo!bo@spark AWAY :tea",
        ":spark-bo!bo@spark AWAY",
    ]
    assert lea.lines() == []


def test_who_joins_while_away_is_announced_as_away():
    network = Network()
    ori = network.client("spark-ori", "#a", caps="away-notify")
    bo = network.client("spark-bo", caps="away-notify")
    bo.send("AWAY :lunch")
    bo.lines()
    bo.send("JOIN #a")
    assert ori.lines() == [":spark-bo!bo@spark JOIN #a", ":spark-bo!bo@spark AWAY :lunch"]
    assert not any(" AWAY" in line for line in bo.lines())


def test_an_away_message_is_cut_to_its_length():
    network = Network(limits=Limits(away_length=5))
    ori = network.client("spark-ori")
    ori.send("AWAY :1234567", "WHOIS spark-ori")
    assert ":spark 301 spark-ori spark-ori :12345" in ori.lines()


def test_one_can_be_away_before_one_is_there():
    network = Network()
    bo = network.client("spark-bo", "#a", caps="away-notify")
    early = network.connect()
    early.send("CAP REQ :draft/pre-away", "AWAY *", "NICK spark-ori", "USER ori 0 * :Ori", "CAP END")
    assert ":spark 306 * :You have been marked as being away" in early.lines()
    early.send("JOIN #a")
    assert bo.lines() == [":spark-ori!ori@spark JOIN #a", ":spark-ori!ori@spark AWAY :*"]


def test_without_the_capability_away_needs_registration():
    client = Network().connect()
    client.send("AWAY :x")
    assert client.lines() == [":spark 451 * :You have not registered"]


def test_a_real_name_can_be_changed():
    network = Network()
    ori = network.client("spark-ori", "#a", caps="setname")
    bo, lea = network.client("spark-bo", "#a", caps="setname"), network.client("spark-lea", "#a")
    ori.lines()
    bo.lines()
    ori.send("SETNAME Ori the Second")
    told = [":spark-ori!ori@spark SETNAME :Ori the Second"]
    assert ori.lines() == bo.lines() == told
    assert lea.lines() == []
    bo.send("WHOIS spark-ori")
    assert bo.lines()[0].endswith(" :Ori the Second")


@pytest.mark.parametrize("realname", ["", " ", "x" * 21])
def test_a_real_name_that_is_none_is_refused(realname: str):
    network = Network(limits=Limits(realname_length=20))
    ori = network.client("spark-ori", caps="setname")
    ori.send(f"SETNAME :{realname}", "SETNAME")
    assert ori.lines() == [
        ":spark FAIL SETNAME INVALID_REALNAME :Realname is not valid: it has 1 to 20 bytes",
        ":spark 461 spark-ori SETNAME :Not enough parameters",
    ]


def test_ison_and_userhost_tell_who_is_there():
    network = Network()
    ori, bo = network.client("spark-ori"), network.client("spark-bo")
    bo.send("AWAY :x")
    ori.send(
        "ISON spark-BO nobody :spark-ori x",
        "ISON nobody",
        "USERHOST spark-ori nobody Spark-bo spark-ori",
        "ISON",
    )
    assert ori.lines() == [
        ":spark 303 spark-ori :spark-bo spark-ori",
        ":spark 303 spark-ori :",
        ":spark 302 spark-ori :spark-ori=+ori@spark spark-bo=-bo@spark spark-ori=+ori@spark",
        ":spark 461 spark-ori ISON :Not enough parameters",
    ]


def test_userhost_takes_nicks_in_one_parameter_and_as_many_lines_as_it_needs():
    network = Network(nick_policy="open")
    nicks = [letter * 64 for letter in "abcdef"]
    clients = [network.client(nick) for nick in nicks]
    clients[0].send(f"USERHOST :{' '.join(nicks)}")
    lines = clients[0].lines()
    told = [
        f"{nick}=+{client.session.user.username}@spark" for nick, client in zip(nicks, clients, strict=True)
    ]
    assert " ".join(line.rpartition(" :")[2] for line in lines).split() == told[:5]
    assert len(lines) == 2


def test_a_bot_is_known_as_one():
    network = Network()
    bot = network.client("spark-claude", "#a")
    ori, bo = network.client("spark-ori", "#a", caps="message-tags"), network.client("spark-bo", "#a")
    bot.send("MODE spark-claude +B")
    assert bot.lines()[-1] == ":spark-claude!claude@spark MODE spark-claude +B"
    ori.lines()
    bo.lines()
    bot.send("PRIVMSG #a :beep")
    assert ori.lines() == ["@msgid=m4;bot :spark-claude!claude@spark PRIVMSG #a :beep"]
    assert bo.lines() == [":spark-claude!claude@spark PRIVMSG #a :beep"]
    ori.send("WHOIS spark-claude", "WHO spark-claude")
    lines = ori.lines()
    assert ":spark 335 spark-ori spark-claude :is a bot on this network" in lines
    assert ":spark 352 spark-ori * claude spark spark spark-claude HB :0 spark-claude" in lines
    bot.send("MODE spark-claude -B", "PRIVMSG #a :no more")
    assert ori.lines() == ["@msgid=m5 :spark-claude!claude@spark PRIVMSG #a :no more"]


def test_nobody_makes_themselves_an_operator():
    ori = Network().client("spark-ori")
    ori.send("MODE spark-ori +ow", "MODE spark-ori")
    assert ori.lines() == [":spark-ori!ori@spark MODE spark-ori +w", ":spark 221 spark-ori +w"]
