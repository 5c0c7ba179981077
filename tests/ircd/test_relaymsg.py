"""IRCv3 draft/relaymsg: a bridge speaks for people who are elsewhere."""

import pytest
from support.network import Network

from culture.config.ircd import OperConfig

BRIDGE = "draft/relaymsg message-tags"
WRONG = "A relayed nick is name/network without signs, of at most 64 bytes"
WRONG_NICKS = ["zoe", "zoe!x/y", "zoe/\u202ey", "zoe/", "/", "/y", "spark-bo"]


def test_what_is_relayed_comes_from_who_said_it_and_tells_who_relayed():
    network = Network()
    bridge = network.client("spark-bridge", "#a", caps=f"{BRIDGE} account-tag")
    bo, lea = network.client("spark-bo", "#a", caps="message-tags"), network.client("spark-lea", "#a")
    bridge.session.user.account = "bridge"
    bridge.send("MODE spark-bridge +B")
    bridge.lines()
    bo.lines()
    bridge.send("@+reply=x RELAYMSG #A Zoë/matrix :hello there")
    line = ":Zoë/matrix!relay@spark PRIVMSG #a :hello there"
    told = f"@msgid=m4;draft/relaymsg=spark-bridge;+reply=x {line}"
    assert bo.lines() == [told]
    assert bridge.lines() == [told]
    assert lea.lines() == [line]


def test_a_label_is_answered_by_what_was_relayed():
    network = Network()
    bridge = network.client("spark-bridge", "#a", caps=f"{BRIDGE} labeled-response batch")
    bridge.send("@label=x RELAYMSG #a zoe/matrix :hello")
    (line,) = bridge.lines()
    assert line.startswith("@label=x;")
    assert line.endswith(" :zoe/matrix!relay@spark PRIVMSG #a :hello")


def test_people_elsewhere_can_call_people_here():
    network = Network()
    bridge, lea = network.client("spark-bridge", "#a", caps=BRIDGE), network.client("spark-lea")
    bridge.send("RELAYMSG #a zoe/matrix :@spark-lea are you there?")
    assert "agentirc.dev/mentions=spark-lea" in bridge.lines()[0]
    assert lea.lines() == [":spark NOTICE spark-lea :zoe/matrix mentioned you in #a"]


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        *((f"RELAYMSG #a {nick} :x", f"FAIL RELAYMSG INVALID_NICK {nick} :{WRONG}") for nick in WRONG_NICKS),
        ("RELAYMSG #a z/y :", "412 spark-bridge :No text to send"),
        ("RELAYMSG #b z/y :x", "403 spark-bridge #b :No such channel"),
        ("RELAYMSG #theirs z/y :x", "442 spark-bridge #theirs :You're not on that channel"),
        ("RELAYMSG #shared z/y :x", "482 spark-bridge #shared :You're not channel operator"),
        ("RELAYMSG #a z/y", "461 spark-bridge RELAYMSG :Not enough parameters"),
    ],
)
def test_what_may_not_be_relayed_is_refused(typed: str, answer: str):
    network = Network()
    bo = network.client("spark-bo", "#theirs", "#shared")
    bridge = network.client("spark-bridge", "#a", "#shared", caps=BRIDGE)
    bo.lines()
    bridge.send(typed)
    assert bridge.lines() == [f":spark {answer}"]
    assert bo.lines() == []


@pytest.mark.parametrize("reserved", "!+%@&#$:'\"?*,. \x01")
def test_what_has_a_meaning_cannot_be_in_a_relayed_nick(reserved: str):
    network = Network()
    bridge, bo = network.client("spark-bridge", "#a", caps=BRIDGE), network.client("spark-bo", "#a")
    bridge.lines()
    bridge.send(f"RELAYMSG #a z{reserved}y/x :hello")
    assert all(" FAIL " in line for line in bridge.lines())
    assert bo.lines() == []


def test_nobody_can_have_such_a_nick():
    client = Network(nick_policy="open").client("zoe")
    client.send("NICK zoe/matrix")
    assert client.numerics() == ["432"]


def test_a_bridge_has_to_know_its_own_words():
    bridge = Network().client("spark-bridge", "#a", caps="message-tags")
    bridge.send("RELAYMSG #a z/y :x")
    assert bridge.lines() == [
        ":spark FAIL RELAYMSG CAPABILITIES_NEEDED :Relaying needs the capability draft/relaymsg"
    ]


def test_a_bridge_knows_its_own_words_without_other_tags():
    bridge = Network().client("spark-bridge", "#a", caps="draft/relaymsg")
    bridge.send("@+reply=x RELAYMSG #a zoe/matrix :hello", "PRIVMSG spark-bridge :hello")
    assert bridge.lines() == [
        "@draft/relaymsg=spark-bridge :zoe/matrix!relay@spark PRIVMSG #a :hello",
        ":spark-bridge!bridge@spark PRIVMSG spark-bridge :hello",
    ]


@pytest.mark.parametrize(("privileges", "numeric"), [(("relaymsg",), "PRIVMSG"), (("kill",), "482")])
def test_an_operator_of_the_server_may_with_the_privilege(privileges: tuple[str, ...], numeric: str):
    network = Network(opers=(OperConfig("x", account="bridge", privileges=privileges),))
    network.client("spark-bo", "#a")
    bridge = network.client("spark-bridge", "#a", caps=BRIDGE, account="bridge")
    bridge.send("OPER x")
    bridge.lines()
    bridge.send("RELAYMSG #a z/y :x")
    assert f" {numeric} " in bridge.lines()[0]


def test_the_separators_are_offered():
    client = Network().connect()
    client.send("CAP LS 302")
    assert "draft/relaymsg=/" in " ".join(client.lines())
