"""IRCv3 draft/metadata-3: what can be asked, set and read."""

import re
from pathlib import Path

import pytest
from support.accounts import accounts_in, log_in, logged_in
from support.metadata import CAPS, read, subscriber
from support.network import Network

from culture.config.ircd import Limits
from culture.ircd.commands.people.chghost import change_host
from culture.net.auth.accounts import StoredAccounts

INVALID = "A key has 1 to 64 lower-case letters, digits and _ . / -"


@pytest.fixture
def accounts(tmp_path: Path) -> Network:
    """A network where somebody may log in as `jilles`."""
    return Network(authenticator=StoredAccounts(accounts_in(tmp_path, "jilles")), nick_policy="open")


def test_the_capability_tells_the_limits():
    network = Network(limits=Limits(metadata_keys=3, metadata_subscriptions=0))
    client = network.connect()
    client.send("CAP LS 302")
    assert " draft/metadata-3=before-connect,max-keys=3,max-key-bytes=64,max-value-bytes=220 " in " ".join(
        client.lines()
    )


def test_a_value_is_set_asked_for_listed_and_removed():
    network = Network()
    ori, bo = network.client("spark-ori", caps=CAPS), network.client("spark-bo", caps=CAPS)
    ori.send("METADATA * SET state :at work", "METADATA SPARK-ORI SET model x", "METADATA * SET empty :")
    assert ori.lines() == [
        ":spark 761 spark-ori spark-ori state * :at work",
        ":spark 761 spark-ori spark-ori model * :x",
        ":spark 766 spark-ori spark-ori empty :Key not set",
    ]
    bo.send("METADATA Spark-Ori GET model nothing n:t state", "METADATA spark-ori LIST", "METADATA * LIST")
    assert read(bo) == [
        ":spark BATCH +1 metadata spark-ori",
        "@batch=1 :spark 761 spark-bo spark-ori model * :x",
        "@batch=1 :spark 766 spark-bo spark-ori nothing :Key not set",
        f"@batch=1 :spark WARN METADATA INVALID_KEY n:t :{INVALID}",
        "@batch=1 :spark 761 spark-bo spark-ori state * :at work",
        ":spark BATCH -1",
        ":spark BATCH +2 metadata spark-ori",
        "@batch=2 :spark 761 spark-bo spark-ori state * :at work",
        "@batch=2 :spark 761 spark-bo spark-ori model * :x",
        ":spark BATCH -2",
        ":spark BATCH +3 metadata spark-bo",
        ":spark BATCH -3",
    ]
    ori.send("METADATA * SET model", "METADATA * SET model", "METADATA * CLEAR", "METADATA * CLEAR")
    assert read(ori) == [
        ":spark 766 spark-ori spark-ori model :Key not set",
        ":spark 766 spark-ori spark-ori model :Key not set",
        ":spark BATCH +1 metadata spark-ori",
        "@batch=1 :spark 766 spark-ori spark-ori state :Key not set",
        ":spark BATCH -1",
        ":spark BATCH +2 metadata spark-ori",
        ":spark BATCH -2",
    ]


def test_many_keys_come_in_several_lines():
    ori = Network(limits=Limits(metadata_subscriptions=0)).client("spark-ori", caps=CAPS)
    keys = [f"{number:02}{'x' * 50}" for number in range(30)]
    for start in range(0, 30, 8):
        ori.send(f"METADATA * SUB {' '.join(keys[start : start + 8])}")
    ori.lines()
    ori.send("METADATA * SUBS")
    _, *lines, _ = ori.lines()
    assert all(len(line.partition(" ")[2].encode()) <= 510 for line in lines)
    assert [key for line in lines for key in line.split(" ")[4:]] == keys


def test_a_channel_is_described_by_its_operators():
    network = Network()
    ori, bo = subscriber(network, "spark-ori", "#Ops"), subscriber(network, "spark-bo", "#ops", keys="url")
    lea = network.client("spark-lea", caps=CAPS)
    ori.send("METADATA #ops SET url :https://example.org/")
    assert ori.lines()[-1] == ":spark 761 spark-ori #Ops url * :https://example.org/"
    assert bo.lines() == [":spark 761 spark-bo #Ops url * :https://example.org/"]
    bo.send("METADATA #ops SET url :x", "METADATA #ops CLEAR", "METADATA spark-ori SET url x")
    assert bo.lines() == [
        ":spark FAIL METADATA KEY_NO_PERMISSION #Ops url :You may not change this",
        ":spark FAIL METADATA KEY_NO_PERMISSION #Ops * :You may not change this",
        ":spark FAIL METADATA KEY_NO_PERMISSION spark-ori url :You may not change this",
    ]
    lea.send("METADATA #ops GET url")
    assert read(lea)[1] == "@batch=1 :spark 761 spark-lea #Ops url * :https://example.org/"
    ori.send("MODE #ops +s")
    lea.send("METADATA #ops GET url", "METADATA #nowhere LIST", "METADATA nobody SYNC")
    assert lea.lines() == [
        f":spark FAIL METADATA INVALID_TARGET {name} :There is no such channel or nick"
        for name in ("#ops", "#nowhere", "nobody")
    ]


def test_before_registration_one_is_alone():
    network = Network()
    watcher = subscriber(network, "spark-bo")
    client = network.connect()
    client.send(f"CAP REQ :{CAPS}")
    client.lines()
    client.send("METADATA * SUB state", "METADATA * SET state up", "METADATA * GET state")
    client.send("METADATA spark-bo LIST", "METADATA * SET model x", "METADATA * SET model")
    assert read(client) == [
        ":spark 770 * state",
        ":spark 761 * * state * :up",
        ":spark BATCH +1 metadata *",
        "@batch=1 :spark 761 * * state * :up",
        ":spark BATCH -1",
        ":spark FAIL METADATA INVALID_TARGET spark-bo :There is no such channel or nick",
        ":spark 761 * * model * :x",
        ":spark 766 * * model :Key not set",
    ]
    client.send("NICK spark-ori", "USER ori 0 * :ori", "CAP END")
    lines = client.lines()
    own = next(index for index, line in enumerate(lines) if line.endswith("metadata spark-ori"))
    assert lines[own + 1].endswith(":spark 761 spark-ori spark-ori state * :up")
    assert " 005 " in lines[own - 1]
    watcher.send("METADATA spark-ori GET state")
    assert watcher.lines()[1].endswith(" state * :up")


def test_who_has_nothing_is_told_so_at_registration():
    client = Network().connect()
    client.send(f"CAP REQ :{CAPS}", "NICK spark-ori", "USER ori 0 * :ori", "CAP END")
    batches = [line for line in read(client) if " BATCH " in line]
    assert batches == [":spark BATCH +1 metadata spark-ori", ":spark BATCH -1"]


def test_who_asks_for_it_later_is_told_what_they_have_published():
    ori = Network().client("spark-ori")
    ori.send("METADATA * SET state busy")
    ori.lines()
    ori.send(f"CAP REQ :{CAPS}", f"CAP REQ :{CAPS}")
    assert read(ori) == [
        f":spark CAP spark-ori ACK :{CAPS}",
        ":spark BATCH +1 metadata spark-ori",
        "@batch=1 :spark 761 spark-ori spark-ori state * :busy",
        ":spark BATCH -1",
        f":spark CAP spark-ori ACK :{CAPS}",
    ]


def test_an_account_has_the_same_on_all_connections(accounts: Network):
    watcher = subscriber(accounts, "watcher", "#a")
    desk, phone = accounts.client("desk", "#a", caps=CAPS), accounts.client("phone", "#a", caps=CAPS)
    desk.send("METADATA * SET state busy")
    watcher.lines()
    logged_in(desk, "jilles")
    log_in(phone, "jilles")
    assert watcher.lines() == [
        ":spark 761 watcher desk state * :busy",
        ":spark 761 watcher phone state * :busy",
    ]
    assert "@batch=1 :spark 761 phone phone state * :busy" in read(phone)
    phone.send("METADATA * SUB state")
    phone.lines()
    desk.send("METADATA * SET state idle")
    for client in (watcher, phone):
        nick = client.session.user.nick
        assert sorted(client.lines()) == [
            f":spark 761 {nick} desk state * :idle",
            f":spark 761 {nick} phone state * :idle",
        ]


def test_an_account_keeps_what_it_published(accounts: Network):
    first = accounts.client("first")
    logged_in(first, "jilles")
    first.send("METADATA * SET model x")
    first.drop()
    assert accounts.ircd.state.metadata.of_accounts == {"jilles": {"model": "x"}}
    second = accounts.connect()
    second.send("CAP REQ :draft/metadata-3 batch sasl")
    logged_in(second, "jilles")
    second.send("METADATA * SET state up", "NICK second", "USER s 0 * :s", "CAP END")
    told = [line.partition(" ")[2] for line in second.lines() if " 761 second " in line]
    assert told == [":spark 761 second second model * :x", ":spark 761 second second state * :up"]
    assert accounts.ircd.state.metadata.of_accounts == {"jilles": {"model": "x", "state": "up"}}


def test_limits_hold():
    network = Network(limits=Limits(metadata_keys=2, metadata_value_length=10, metadata_changes_per_min=4))
    ori = network.client("spark-ori", "#a", caps=CAPS)
    ori.send(
        "METADATA * SET a :x", "METADATA * SET b :éééééé", "METADATA * SET b :ééééé", "METADATA * SET c x"
    )
    ori.send("METADATA * SET a :y", "METADATA #a SET a :y", "METADATA #a SET b :y")
    assert ori.lines() == [
        ":spark 761 spark-ori spark-ori a * :x",
        ":spark FAIL METADATA INVALID_VALUE b :The value is too long: it may have 10 bytes",
        ":spark 761 spark-ori spark-ori b * :ééééé",
        ":spark FAIL METADATA LIMIT_REACHED SET spark-ori 2 :There are too many keys already",
        ":spark 761 spark-ori spark-ori a * :y",
        ":spark 761 spark-ori #a a * :y",
        ":spark 775 spark-ori 60 #a SET b :y",
    ]
    network.clock.advance(59.5)
    ori.send("METADATA * CLEAR")
    network.clock.advance(0.5)
    ori.send("METADATA * CLEAR")
    assert ori.lines()[0] == ":spark 775 spark-ori 1 * :CLEAR"
    assert ori.session.user.metadata == {}


@pytest.mark.parametrize("limits", [Limits(), Limits(metadata_value_length=512, channel_length=100)])
def test_a_value_as_long_as_is_told_is_never_cut_whatever_names_are_taken(limits: Limits):
    network = Network(limits=limits, nick_policy="open", name="s" * 63)
    nick, channel, key = "o" * 64, f"#{'c' * (limits.channel_length - 1)}", "k" * 64
    ori, bo = network.client(nick, channel, caps=CAPS), network.client("b" * 64, caps=CAPS)
    bo.send(f"METADATA * SUB {key}", f"JOIN {channel}", "CAP LS 302")
    (most,) = re.findall(r"metadata-3=\S*max-value-bytes=(\d+)", " ".join(bo.lines()))
    change_host(network.ircd, ori.session.user, "u" * 16, "h" * 63)
    bo.lines()
    for target in (nick, channel):
        value = "x" * int(most)
        ori.send(f"METADATA {target} SET {key} {value}")
        bo.send(f"METADATA {target} GET {key}")
        told, _, answered, _ = bo.lines()
        assert f" 761 {'b' * 64} {target} {key} * :{value}" in told
        assert f" 761 {'b' * 64} {target} {key} * :{value}" in answered
        ori.send(f"METADATA {target} SET {key} {value}x")
        assert f"it may have {most} bytes" in ori.lines()[-1]


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("METADATA", "FAIL METADATA INVALID_PARAMS * "),
        ("METADATA *", "FAIL METADATA INVALID_PARAMS * "),
        ("METADATA * GET", "FAIL METADATA INVALID_PARAMS GET "),
        ("METADATA * SET", "FAIL METADATA INVALID_PARAMS SET "),
        ("METADATA * SET a b c", "FAIL METADATA INVALID_PARAMS SET "),
        ("METADATA * SUB", "FAIL METADATA INVALID_PARAMS SUB "),
        ("METADATA * LIST x", "FAIL METADATA INVALID_PARAMS LIST "),
        ("METADATA * DESTROY", "FAIL METADATA INVALID_PARAMS DESTROY "),
        ("METADATA #a :: hi!", "FAIL METADATA INVALID_PARAMS * "),
        ("METADATA *ALL LIST", "FAIL METADATA INVALID_TARGET *ALL"),
        ("METADATA #a SUB x", "FAIL METADATA INVALID_TARGET #a"),
        ("METADATA $a:x SET url x", "FAIL METADATA INVALID_TARGET $a:x"),
        ("METADATA * SET Url x", "FAIL METADATA INVALID_KEY Url"),
        ("METADATA * SET :a b", "FAIL METADATA INVALID_KEY *"),
        (f"METADATA * SET {'k' * 65} x", "FAIL METADATA INVALID_KEY k"),
    ],
)
def test_refusals_say_why(typed: str, told: str):
    ori = Network().client("spark-ori", "#a")
    ori.send(typed)
    (line,) = ori.lines()
    assert line.startswith(f":spark {told}")


def test_a_labeled_question_is_answered_by_one_batch_with_the_label():
    ori = Network().client("spark-ori", caps=f"{CAPS} labeled-response message-tags server-time")
    ori.send("METADATA * SET a x")
    ori.lines()
    ori.send("@label=q METADATA * LIST")
    start, value, end = read(ori)
    assert start == "@label=q :spark BATCH +1 metadata spark-ori"
    assert value == "@batch=1;time=1970-01-12T13:46:40.000Z :spark 761 spark-ori spark-ori a * :x"
    assert end == ":spark BATCH -1"


def test_a_batch_among_other_answers_is_inside_theirs():
    network = Network()
    network.client("spark-bo", "#a").send("METADATA * SET state busy")
    lea = network.client("spark-lea", caps=f"{CAPS} labeled-response no-implicit-names")
    lea.send("METADATA * SUB state")
    lea.lines()
    lea.send("@label=j JOIN #a")
    assert read(lea) == [
        "@label=j :spark BATCH +1 labeled-response",
        "@batch=1 :spark-lea!lea@spark JOIN #a",
        "@batch=1 :spark BATCH +2 metadata #a",
        "@batch=2 :spark 761 spark-lea spark-bo state * :busy",
        "@batch=1 :spark BATCH -2",
        ":spark BATCH -1",
    ]


def test_nothing_is_left_of_who_left():
    network = Network()
    ori = network.client("spark-ori", "#a")
    ori.send("METADATA * SET state x", "METADATA #a SET url y")
    ori.drop()
    assert network.ircd.state.metadata.of_accounts == {}
    network.client("spark-bo", "#a").send("METADATA #a LIST")
    assert network.ircd.state.channels["#a"].metadata == {}
