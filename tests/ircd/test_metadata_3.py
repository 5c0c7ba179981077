"""IRCv3 draft/metadata-3 by section; `draft/metadata-2` names the same."""

import pytest
from support.metadata import read, subscriber
from support.network import Client, Network

from culture.ircd.commands.people.metadata import metadata
from culture.ircd.delivery.metadata_push import USERS_PER_STEP
from culture.protocol.line import parse_line

BOTH = pytest.mark.parametrize("cap", ["draft/metadata-2", "draft/metadata-3"])


# Relation with other specifications.


def test_a_client_uses_one_of_the_two_names():
    client = Network().connect()
    client.send("CAP REQ :batch draft/metadata-2 draft/metadata-3", "CAP REQ :batch draft/metadata-2")
    client.send("CAP REQ draft/metadata-3", "CAP REQ :-draft/metadata-2 draft/metadata-3", "CAP LIST")
    assert [line.partition(" * ")[2] for line in client.lines()] == [
        "NAK :batch draft/metadata-2 draft/metadata-3",
        "ACK :batch draft/metadata-2",
        "NAK :draft/metadata-3",
        "ACK :-draft/metadata-2 draft/metadata-3",
        "LIST :batch draft/metadata-3",
    ]


# The capability.


@BOTH
def test_both_names_tell_the_same_limits(cap: str):
    client = Network().connect()
    client.send("CAP LS 302")
    value = "before-connect,max-subs=50,max-keys=50,max-key-bytes=64,max-value-bytes=220"
    assert f" {cap}={value} " in " ".join(client.lines())


@pytest.mark.parametrize("removed", ["draft/metadata-3", "batch"])
def test_who_removes_the_capability_or_batch_is_subscribed_to_nothing(removed: str):
    ori = subscriber(Network(), "spark-ori")
    ori.send(f"CAP REQ :-{removed}", f"CAP REQ :{removed}")
    ori.lines()
    ori.send("METADATA * SUBS")
    assert read(ori) == [":spark BATCH +1 metadata-subs", ":spark BATCH -1"]


# Notifications.


@BOTH
def test_subscribers_are_told_by_numerics(cap: str):
    network = Network()
    ori, bo = network.client("spark-ori", "#a"), network.client("spark-bo", "#a", caps=f"batch {cap}")
    bo.send("METADATA * SUB url")
    bo.lines()
    ori.send("METADATA * SET url x", "METADATA #a SET url y", "METADATA * SET url", "METADATA #a CLEAR")
    assert bo.lines() == [
        ":spark 761 spark-bo spark-ori url * :x",
        ":spark 761 spark-bo #a url * :y",
        ":spark 766 spark-bo spark-ori url :Key not set",
        ":spark 766 spark-bo #a url :Key not set",
    ]


def test_a_notification_has_no_tags_of_who_made_the_change():
    network = Network()
    ori = network.client("spark-ori", "#a")
    bo = network.client("spark-bo", "#a", caps="batch draft/metadata-3 message-tags account-tag")
    bo.send("METADATA * SUB url")
    ori.session.user.account = "ori"
    ori.send("MODE spark-ori +B")
    bo.lines()
    ori.send("METADATA #a SET url x")
    assert bo.lines() == [":spark 761 spark-bo #a url * :x"]


# Automatic synchronization.


def test_who_registers_is_sent_all_that_they_have_whatever_they_subscribed_to():
    client = Network().connect()
    client.send("CAP REQ :batch draft/metadata-3", "METADATA * SUB url", "METADATA * SET other x")
    client.send("NICK spark-ori", "USER ori 0 * :ori", "CAP END")
    lines = read(client)
    start = lines.index(":spark BATCH +1 metadata spark-ori")
    assert lines[start + 1 : start + 3] == [
        "@batch=1 :spark 761 spark-ori spark-ori other * :x",
        ":spark BATCH -1",
    ]
    assert start < next(index for index, line in enumerate(lines) if " 422 " in line)
    # A subscription on the way in brings no batch of its own.
    assert [line for line in lines if "*ALL" in line] == []


def test_who_joins_gets_a_batch_also_where_nothing_is_published():
    lea = Network().client("spark-lea", caps="batch draft/metadata-3")
    lea.send("JOIN #a")
    assert read(lea)[-2:] == [":spark BATCH +1 metadata #a", ":spark BATCH -1"]


def test_who_cannot_read_batches_gets_none():
    network = Network()
    lea = network.client("spark-lea", caps="draft/metadata-3")
    lea.send("METADATA * SUB url", "JOIN #a", "MONITOR + spark-lea")
    assert lea.numerics() == ["770", "JOIN", "353", "366", "730"]


@pytest.mark.parametrize("typed", ["MONITOR + spark-ori", "MONITOR S"])
def test_each_user_that_is_told_to_be_online_is_synchronized(typed: str):
    network = Network()
    network.client("spark-ori").send("METADATA * SET url x", "METADATA * SET other y")
    lea = subscriber(network, "spark-lea", keys="url")
    if typed == "MONITOR S":
        lea.send("MONITOR + spark-ori,spark-away")
        lea.lines()
    lea.send(typed)
    batch = [
        ":spark BATCH +1 metadata spark-ori",
        "@batch=1 :spark 761 spark-lea spark-ori url * :x",
        ":spark BATCH -1",
    ]
    assert read(lea)[-3:] == batch
    lea.send("METADATA spark-ori SYNC")
    assert read(lea) == batch


# METADATA SUB.


def test_the_batch_is_inside_the_labeled_response():
    lea = Network().client("spark-lea", caps="batch draft/metadata-3 labeled-response")
    lea.send("METADATA * SET url x")
    lea.lines()
    lea.send("@label=s METADATA * SUB url")
    assert read(lea) == [
        "@label=s :spark BATCH +1 labeled-response",
        "@batch=1 :spark 770 spark-lea url",
        "@batch=1 :spark BATCH +2 metadata *ALL",
        "@batch=2 :spark 761 spark-lea spark-lea url * :x",
        "@batch=1 :spark BATCH -2",
        ":spark BATCH -1",
    ]


def test_who_subscribes_to_nothing_new_is_sent_no_batch():
    lea = subscriber(Network(), "spark-lea", keys="url")
    lea.send("METADATA * SUB url url")
    assert lea.lines() == [":spark 770 spark-lea url url"]


# METADATA SET.


def test_setting_is_idempotent():
    network = Network()
    ori, bo = network.client("spark-ori", "#a"), subscriber(network, "spark-bo", "#a", keys="url")
    ori.send("METADATA * SET url", "METADATA * SET url x", "METADATA * SET url x", "METADATA * SET url :")
    ori.send("METADATA * SET url :")
    assert [line.split(" ")[1] for line in ori.lines()[-5:]] == ["766", "761", "761", "766", "766"]
    assert [line.split(" ")[1] for line in bo.lines()[-2:]] == ["761", "766"]


# What WHOIS shows.


@BOTH
def test_whois_shows_every_key_whatever_was_subscribed(cap: str):
    network = Network()
    network.client("spark-ori").send("METADATA * SET url :x y", "METADATA * SET other z")
    lea, old = network.client("spark-lea", caps=f"batch {cap}"), network.client("spark-old")
    lea.send("METADATA * SUB url")
    for client in (lea, old):
        client.lines()
        client.send("WHOIS spark-ori")
    assert [line for line in lea.lines() if " 760 " in line] == [
        ":spark 760 spark-lea spark-ori url * :x y",
        ":spark 760 spark-lea spark-ori other * :z",
    ]
    assert "760" not in old.numerics()


# What may be read.


@pytest.mark.parametrize("mode", ["+i", "+k sesame", "+b *!*@*", "+R"])
@pytest.mark.parametrize("asked", ["GET url", "LIST", "SYNC"])
def test_of_a_channel_that_lets_in_some_only_they_can_read(mode: str, asked: str):
    network = Network()
    ori = network.client("spark-ori", "#a")
    ori.send("METADATA #a SET url x", f"MODE #a {mode}")
    lea: Client = subscriber(network, "spark-lea", keys="url")
    lea.send(f"METADATA #a {asked}")
    assert lea.lines() == [
        ":spark FAIL METADATA KEY_NO_PERMISSION #a * :Only members of that channel can read it"
    ]
    ori.send(f"MODE #a -{mode[1:]}")
    lea.send(f"METADATA #a {asked}")
    assert "@batch=1 :spark 761 spark-lea #a url * :x" in read(lea)
    ori.send("INVITE spark-lea #a", f"MODE #a {mode}")
    lea.send("JOIN #a")
    lea.lines()
    lea.send(f"METADATA #a {asked}")
    assert "@batch=1 :spark 761 spark-lea #a url * :x" in read(lea)


# Values.


def test_a_value_that_is_too_long_is_refused_whole():
    network = Network()
    ori, bo = network.client("spark-ori", "#a"), subscriber(network, "spark-bo", "#a", keys="url")
    ori.send(f"METADATA * SET url {'x' * 221}")
    assert ori.lines()[-1].startswith(":spark FAIL METADATA INVALID_VALUE url :")
    assert bo.lines() == []
    ori.send("METADATA * GET url")
    assert ori.lines() == [":spark 766 spark-ori spark-ori url :Key not set"]


# Cost.


def test_a_long_answer_is_made_in_steps():
    network = Network()
    for number in range(USERS_PER_STEP + 1):
        network.client(f"spark-n{number}", "#a").send("METADATA * SET url x")
    lea = subscriber(network, "spark-lea", "#a", keys="url")
    steps = metadata(network.ircd, lea.session, parse_line("METADATA *ALL SYNC"))
    assert steps is not None
    assert len(list(steps)) == 4
    assert len([line for line in lea.lines() if " 761 " in line]) == USERS_PER_STEP + 1


def test_who_leaves_meanwhile_is_left_out():
    network = Network()
    ori, lea = (
        network.client("spark-ori", "#a", "#b"),
        subscriber(network, "spark-lea", "#a", "#b", keys="url"),
    )
    ori.send("METADATA #b SET url x", "METADATA * SET url y")
    lea.lines()
    steps = metadata(network.ircd, lea.session, parse_line("METADATA *ALL SYNC"))
    assert steps is not None
    next(steps)
    lea.send("PART #a,#b")
    lea.lines()
    list(steps)
    assert [line.split(" ")[4] for line in lea.lines() if " 761 " in line] == ["#b"]
