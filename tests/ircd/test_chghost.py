"""IRCv3 chghost: somebody's user name and host change."""

import pytest
from support.network import Client, Network

from culture.config.ircd import OperConfig


@pytest.fixture
def network() -> Network:
    return Network(
        opers=(OperConfig("root", account="root"), OperConfig("less", account="root", privileges=()))
    )


def operator(network: Network, name: str = "root") -> Client:
    client = network.client("spark-op")
    client.session.user.account = "root"
    client.send(f"OPER {name}")
    client.lines()
    return client


def test_those_who_know_read_it_once_the_changed_one_too(network: Network):
    op = operator(network)
    ori = network.client("spark-ori", "#a", "#b", caps="chghost")
    bo = network.client("spark-bo", "#a", "#b", caps="chghost")
    ori.lines()
    op.send("CHGHOST Spark-Ori agent example.org")
    told = [":spark-ori!ori@spark CHGHOST agent example.org"]
    assert ori.lines() == told
    assert bo.lines() == told
    ori.send("PRIVMSG #a :hi")
    assert bo.lines() == [":spark-ori!agent@example.org PRIVMSG #a :hi"]


def test_others_see_a_reconnect_in_the_channels_they_share(network: Network):
    op = operator(network)
    ori = network.client("spark-ori", "#a", "#b", "#c", "#d")
    bo, lea = (
        network.client("spark-bo", "#a", "#b", "#d"),
        network.client("spark-lea", "#a", caps="extended-join"),
    )
    ori.send("MODE #a +v spark-ori", "MODE #b -o spark-ori", "AWAY :lunch")
    for client in (ori, bo, lea):
        client.lines()
    op.send("CHGHOST spark-ori ori example.org")
    assert bo.lines() == [
        ":spark-ori!ori@spark QUIT :Changing host",
        ":spark-ori!ori@example.org JOIN #a",
        ":spark MODE #a +ov spark-ori spark-ori",
        ":spark-ori!ori@example.org JOIN #b",
        ":spark-ori!ori@example.org JOIN #d",
        ":spark MODE #d +o spark-ori",
    ]
    assert lea.lines()[1] == ":spark-ori!ori@example.org JOIN #a * :spark-ori"
    assert ori.lines() == []


def test_who_monitors_closely_learns_it_too(network: Network):
    op, ori = operator(network), network.client("spark-ori")
    watcher = network.client("spark-bo", caps="chghost extended-monitor")
    watcher.send("MONITOR + spark-ori")
    watcher.lines()
    op.send("CHGHOST spark-ori a b")
    assert watcher.lines() == [":spark-ori!ori@spark CHGHOST a b"]
    assert ori.lines() == []


def test_away_comes_back_with_those_who_see_it(network: Network):
    op, ori = operator(network), network.client("spark-ori", "#a")
    bo = network.client("spark-bo", "#a", caps="away-notify")
    ori.send("AWAY :lunch")
    bo.lines()
    op.send("CHGHOST spark-ori a b")
    assert bo.lines()[-1] == ":spark-ori!a@b AWAY :lunch"


def test_a_ban_means_the_new_host(network: Network):
    op, ori = operator(network), network.client("spark-ori", "#a")
    bo = network.client("spark-bo", "#a")
    ori.send("MODE #a +b *!*@example.org")
    bo.send("PRIVMSG #a :one")
    op.send("CHGHOST spark-bo bo example.org")
    bo.lines()
    bo.send("PRIVMSG #a :two")
    assert bo.numerics() == ["404"]


def test_the_journal_has_who_did_it(network: Network):
    op = operator(network)
    network.client("spark-ori")
    network.ircd.notes.take()
    op.send("CHGHOST spark-ori a example.org")
    (note,) = network.ircd.notes.take()
    assert (note.kind, note.nick, note.operator) == ("host-changed", "spark-ori", "root")
    assert note.text == "spark-ori (test) is now a@example.org, changed by spark-op"


def test_no_change_is_told_to_nobody(network: Network):
    op, ori = operator(network), network.client("spark-ori", "#a", caps="chghost")
    op.send("CHGHOST spark-ori ori spark")
    assert ori.lines() == []


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("CHGHOST spark-ori a", "461 spark-op CHGHOST :Not enough parameters"),
        ("CHGHOST spark-none a b", "401 spark-op spark-none :No such nick/channel"),
        (
            "CHGHOST spark-ori a@b c",
            "FAIL CHGHOST INVALID_USERNAME a@b :A user name has 1 to 16 letters",
        ),
        (
            "CHGHOST spark-ori a :b c",
            "FAIL CHGHOST INVALID_HOSTNAME * :A host name has 1 to 63 letters, digits and . / : -",
        ),
    ],
)
def test_what_cannot_be_is_refused(network: Network, typed: str, answer: str):
    op, ori = operator(network), network.client("spark-ori", caps="chghost")
    op.send(typed)
    assert op.lines() == [f":spark {answer}"]
    assert ori.lines() == []


def test_it_needs_the_privilege(network: Network):
    op, ori = operator(network, "less"), network.client("spark-ori")
    for client in (op, ori):
        client.send("CHGHOST spark-ori a b")
    assert op.numerics() == ["723"]
    assert ori.numerics() == ["481"]
