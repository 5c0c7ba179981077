"""OPER, KILL, REHASH and WALLOPS (RFC 2812 sections 3.1.4, 3.7.1, 4.2 and 4.7; modern.ircdocs.horse)."""

import pytest
from support.network import Client, Network

from culture.config.ircd import Limits, OperConfig
from culture.ircd.session import Session
from culture.ircd.traffic import Traffic

OPERS = (
    OperConfig("root", password_credential="root"),
    OperConfig("ori", account="Ori", privileges=("wallops",)),
    OperConfig("both", account="ori", password_credential="both"),
)


@pytest.fixture
def network() -> Network:
    return make_network()


def make_network(**options: object) -> Network:
    passwords = {"oper_passwords": {"root": "sesame", "both": "pencil"}}
    limits = Limits(login_failures=3)
    return Network(nick_policy="open", opers=OPERS, limits=limits, **{**passwords, **options})


def make_operator(network: Network, nick: str = "op", *channels: str) -> Client:
    client = network.client(nick, *channels)
    client.send("OPER root sesame")
    client.lines()
    return client


def test_a_password_makes_an_operator(network: Network):
    client = network.client("op")
    client.send("OPER root sesame", "MODE op", "OPER root sesame")
    assert client.lines() == [
        ":spark 381 op :You are now an IRC operator",
        ":spark MODE op +o",
        ":spark 221 op +o",
        ":spark 381 op :You are now an IRC operator",
    ]


def test_an_account_makes_an_operator(network: Network):
    client = network.client("op")
    client.send("OPER ori")
    assert client.lines() == [":spark 491 op :No O-lines for your host"]
    client.session.user.account = "ORI"
    client.send("OPER ori")
    assert client.numerics() == ["381", "MODE"]


@pytest.mark.parametrize(
    ("typed", "numeric"),
    [
        ("OPER root wrong", "464"),
        ("OPER root", "461"),
        ("OPER nobody x", "491"),
        ("OPER nobody", "461"),
        ("OPER", "461"),
        ("OPER both pencil", "491"),
        ("OPER ROOT sesame", "491"),
    ],
)
def test_nobody_else_becomes_one(network: Network, typed: str, numeric: str):
    client = network.client("op")
    client.send(typed)
    assert client.numerics() == [numeric]
    assert not client.session.user.is_operator


def test_where_account_and_password_are_set_both_have_to_fit(network: Network):
    client = network.client("op")
    client.session.user.account = "ori"
    client.send("OPER both wrong", "OPER both pencil")
    assert client.numerics() == ["464", "381", "MODE"]


def test_a_password_that_could_not_be_read_fits_nothing():
    client = make_network(oper_passwords={}).client("op")
    client.send("OPER root :")
    assert client.numerics() == ["464"]


def test_guessing_has_an_end(network: Network):
    client = network.client("op")
    client.send(*["OPER root wrong"] * 3)
    assert client.lines()[-1] == "ERROR :Closing Link: spark (Too many failed logins)"


def test_nobody_makes_an_operator_of_oneself_but_one_can_step_down(network: Network):
    client = network.client("op")
    client.send("MODE op +o", "KILL op :x")
    assert client.numerics()[-1] == "481"
    client.send("OPER root sesame", "MODE op -o", "KILL op :x")
    assert client.numerics()[-2:] == ["MODE", "481"]


def test_the_killed_read_who_it_was_with_all_that_is_known_of_them(network: Network):
    # IRCv3 account-tag and bot-mode: on everything that somebody sends.
    op = make_operator(network)
    op.session.user.account = "root"
    op.send("MODE op +B")
    victim = network.client("victim", caps="message-tags account-tag")
    victim.lines()
    op.send("KILL victim :enough")
    assert victim.lines()[0] == "@account=root;bot :op!op@spark KILL victim :enough"


def test_the_killed_read_why_and_the_others_see_them_quit(network: Network):
    op, victim = make_operator(network), network.client("victim", "#a")
    witness = network.client("witness", "#a")
    victim.lines()
    op.send("KILL Victim :enough is enough")
    assert victim.lines() == [
        ":op!op@spark KILL victim :enough is enough",
        ":victim!victim@spark QUIT :Killed (op (enough is enough))",
        "ERROR :Closing Link: spark (Killed (op (enough is enough)))",
    ]
    assert witness.lines() == [":victim!victim@spark QUIT :Killed (op (enough is enough))"]
    assert victim.is_closed
    assert op.lines() == []
    op.send("KILL victim :x", "KILL spark :x", "KILL witness")
    assert op.lines() == [
        ":spark 401 op victim :No such nick/channel",
        ":spark 483 op :You can't kill a server!",
        ":spark 461 op KILL :Not enough parameters",
    ]


@pytest.mark.parametrize("typed", ["KILL bo :x", "REHASH", "WALLOPS :x"])
def test_others_may_not(network: Network, typed: str):
    client, bo = network.client("lea"), network.client("bo")
    client.send(typed)
    assert client.lines() == [":spark 481 lea :Permission Denied- You're not an IRC operator"]
    assert not bo.is_closed


def test_an_operator_may_do_what_the_configuration_says_now(network: Network):
    client = network.client("ori", account="ori")
    client.send("OPER ori", "REHASH", "WALLOPS :hi")
    assert client.lines()[2:] == [":spark 723 ori rehash :Insufficient oper privileges."]


def test_operators_speak_to_those_who_listen(network: Network):
    op, listener, other = make_operator(network), network.client("listener"), network.client("other")
    listener.send("MODE listener +w")
    listener.lines()
    op.send("WALLOPS :hello everyone", "WALLOPS", "WALLOPS :")
    assert listener.lines() == [":op!op@spark WALLOPS :hello everyone"]
    assert other.lines() == []
    assert op.numerics() == ["461", "461"]


def test_rehash_asks_the_driver():
    asked: list[Session] = []
    op = make_operator(make_network(on_rehash=asked.append))
    op.send("REHASH")
    assert op.lines() == [":spark 382 op ircd.yaml :Rehashing"]
    assert [operator.user.nick for operator in asked] == ["op"]


def test_operators_are_told_who_can_be_one(network: Network):
    op, other = make_operator(network), network.client("other")
    for client in (op, other):
        client.send("STATS o")
    assert op.lines() == [
        ":spark 243 op O *@* * root",
        ":spark 243 op O *@* * ori",
        ":spark 243 op O *@* * both",
        ":spark 219 op o :End of /STATS report",
    ]
    assert other.lines() == [
        ":spark 481 other :Permission Denied- You're not an IRC operator",
        ":spark 219 other o :End of /STATS report",
    ]


def test_operators_are_told_what_each_connection_carried(network: Network):
    # RFC 2812 section 3.4.4, query l. Who is connected from where is nobody else's business.
    op = make_operator(network)
    network.clock.advance(90)
    other = network.client("other")
    network.ircd.traffic_of = lambda session: Traffic(5, 40, 4096, 30, 2047)
    for client in (op, other):
        client.send("STATS l")
    assert op.lines() == [
        ":spark 211 op op!op@spark 5 40 4 30 1 90",
        ":spark 211 op other!other@spark 5 40 4 30 1 0",
        ":spark 219 op l :End of /STATS report",
    ]
    assert other.lines() == [
        ":spark 481 other :Permission Denied- You're not an IRC operator",
        ":spark 219 other l :End of /STATS report",
    ]


def test_an_operator_needs_something_that_fits():
    with pytest.raises(ValueError, match="operator 'x' needs 'account', 'password_credential' or both"):
        OperConfig("x")
