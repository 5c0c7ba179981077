"""Who is told of metadata without asking for it (IRCv3 draft/metadata-3)."""

from support.metadata import CAPS, read, subscriber
from support.network import Network

from culture.config.ircd import Limits

LATER = "There is much metadata; ask for it by METADATA SYNC"


def test_subscriptions():
    ori = Network(limits=Limits(metadata_subscriptions=3)).client("spark-ori", caps=CAPS)
    ori.send(
        "METADATA * SUBS", "METADATA * SUB b a $x B b", "METADATA * UNSUB a $x z", "METADATA * SUB d c e a"
    )
    ori.send("METADATA * SUBS", "METADATA * SUB c", "METADATA * UNSUB b c d", "METADATA * SUBS")
    said = "A key has 1 to 64 lower-case letters, digits and _ . / -"
    full = ":You are subscribed to too many keys"
    assert read(ori) == [
        ":spark BATCH +1 metadata-subs",
        ":spark BATCH -1",
        ":spark 770 spark-ori b a b",
        f":spark WARN METADATA INVALID_KEY $x :{said}",
        f":spark WARN METADATA INVALID_KEY B :{said}",
        ":spark BATCH +2 metadata *ALL",
        ":spark BATCH -2",
        ":spark 771 spark-ori a z",
        f":spark WARN METADATA INVALID_KEY $x :{said}",
        ":spark 770 spark-ori d c",
        f":spark FAIL METADATA LIMIT_REACHED SUB e 3 {full}",
        ":spark BATCH +3 metadata *ALL",
        ":spark BATCH -3",
        ":spark BATCH +4 metadata-subs",
        "@batch=4 :spark 772 spark-ori b c d",
        ":spark BATCH -4",
        f":spark FAIL METADATA LIMIT_REACHED SUB c 3 {full}",
        ":spark 771 spark-ori b c d",
        ":spark BATCH +5 metadata-subs",
        ":spark BATCH -5",
    ]


def test_a_change_is_told_to_those_who_share_a_channel_and_asked():
    network = Network()
    bo, lea = subscriber(network, "spark-bo", "#a", "#b"), subscriber(network, "spark-lea")
    deaf = network.client("spark-deaf", "#a", caps="draft/metadata-3")
    ori = subscriber(network, "spark-ori", "#a", "#b")
    bo.lines()
    deaf.lines()
    ori.send("METADATA * SET state busy", "METADATA * SET state busy", "METADATA * SET other x")
    ori.send("METADATA * SET state")
    assert bo.lines() == [
        ":spark 761 spark-bo spark-ori state * :busy",
        ":spark 766 spark-bo spark-ori state :Key not set",
    ]
    assert lea.lines() == deaf.lines() == []
    assert [line.split(" ")[1] for line in ori.lines()] == ["761", "761", "761", "766"]
    bo.send("METADATA * UNSUB state")
    bo.lines()
    ori.send("METADATA * SET state idle")
    assert bo.lines() == []


def test_whom_one_monitors_need_not_be_in_a_channel_with_one():
    network = Network()
    ori = network.client("spark-ori")
    bo = network.client("spark-bo", caps=CAPS)
    bo.send("METADATA * SUB state", "MONITOR + spark-ori,spark-lea")
    bo.lines()
    ori.send("METADATA * SET state busy", "NICK spark-lea")
    assert read(bo) == [
        ":spark 761 spark-bo spark-ori state * :busy",
        ":spark 731 spark-bo :spark-ori",
        ":spark 730 spark-bo :spark-lea!ori@spark",
        ":spark BATCH +1 metadata spark-lea",
        "@batch=1 :spark 761 spark-bo spark-lea state * :busy",
        ":spark BATCH -1",
    ]
    bo.send("MONITOR C", "MONITOR + spark-lea")
    assert read(bo)[1:] == [
        ":spark BATCH +1 metadata spark-lea",
        "@batch=1 :spark 761 spark-bo spark-lea state * :busy",
        ":spark BATCH -1",
    ]


def test_who_joins_is_told_what_they_subscribed_to():
    network = Network()
    ori = network.client("spark-ori", "#a")
    network.client("spark-bo", "#a").send("METADATA * SET model :m 2", "METADATA * SET other x")
    ori.send("METADATA #a SET state :open", "METADATA * SET state busy")
    lea = network.client("spark-lea", caps=CAPS)
    lea.send("METADATA * SUB model state", "METADATA * SET state new")
    lea.lines()
    lea.send("JOIN #a")
    told = [
        ":spark 761 spark-lea #a state * :open",
        ":spark 761 spark-lea spark-ori state * :busy",
        ":spark 761 spark-lea spark-bo model * :m 2",
    ]
    *_, end_of_names, start, one, two, three, end = read(lea)
    assert " 366 " in end_of_names
    assert (start, end) == (":spark BATCH +1 metadata #a", ":spark BATCH -1")
    assert [one, two, three] == [f"@batch=1 {line}" for line in told]
    lea.send("METADATA #a SYNC", "METADATA spark-bo SYNC")
    synced = [line.partition(" ")[2] for line in lea.lines() if line.startswith("@")]
    assert synced == [*told, told[-1]]


def test_the_members_are_told_of_whoever_joins_and_is_new_to_them():
    network = Network()
    bo, lea = subscriber(network, "spark-bo", "#a", "#b"), subscriber(network, "spark-lea", "#b")
    deaf, watcher = network.client("spark-deaf", "#b"), subscriber(network, "spark-watcher", "#b")
    ori = network.client("spark-ori", "#a")
    ori.send("METADATA * SET state busy", "METADATA * SET other x")
    watcher.send("MONITOR + spark-ori")
    for client in (bo, lea, deaf, watcher):
        client.lines()
    ori.send("JOIN #b")
    joined = ":spark-ori!ori@spark JOIN #b"
    assert read(lea) == [
        joined,
        ":spark BATCH +1 metadata spark-ori",
        "@batch=1 :spark 761 spark-lea spark-ori state * :busy",
        ":spark BATCH -1",
    ]
    assert bo.lines() == deaf.lines() == watcher.lines() == [joined]


def test_a_stranger_learns_nothing_of_the_invisible_members_of_a_channel():
    network = Network()
    ori, bo = network.client("spark-ori", "#a"), network.client("spark-bo", "#a")
    ori.send("METADATA * SET state busy", "MODE spark-ori +i")
    bo.send("METADATA * SET state idle")
    lea = subscriber(network, "spark-lea")
    lea.send("METADATA #a SYNC")
    assert [line for line in read(lea) if " 761 " in line] == [
        "@batch=1 :spark 761 spark-lea spark-bo state * :idle"
    ]


def test_subscriptions_end_with_the_capability():
    ori = subscriber(Network(), "spark-ori")
    ori.send("CAP REQ :-draft/metadata-3", "CAP REQ :draft/metadata-3")
    ori.lines()
    ori.send("METADATA * SUBS")
    assert read(ori) == [":spark BATCH +1 metadata-subs", ":spark BATCH -1"]


def test_who_joins_a_channel_where_much_is_published_asks_for_it_later():
    network = Network(limits=Limits(metadata_changes_per_min=0))
    keys = " ".join(f"k{number}" for number in range(10))
    for number in range(51):
        member = network.client(f"spark-n{number}", "#a")
        member.send(*(f"METADATA * SET {key} x" for key in keys.split(" ")))
    lea = network.client("spark-lea", caps=CAPS)
    lea.send(f"METADATA * SUB {keys}")
    lea.lines()
    lea.send("JOIN #a")
    assert lea.lines()[-1] == f":spark 774 spark-lea #a 5 :{LATER}"
    lea.send("METADATA #a SYNC")
    assert len(lea.lines()) == 510 + 2


def test_who_subscribes_is_told_what_is_published_where_they_are():
    network = Network()
    ori, bo = network.client("spark-ori", "#a", "#b"), network.client("spark-bo", "#b")
    far, stranger = network.client("spark-far"), network.client("spark-stranger", "#c")
    for client in (ori, bo, far, stranger):
        client.send(f"METADATA * SET state :{client.session.user.username} is busy")
    ori.send("METADATA #a SET state open", "METADATA * SET model x")
    lea = network.client("spark-lea", "#a", "#b", caps=CAPS)
    lea.send("METADATA * SET state mine", "MONITOR + spark-far,spark-ori")
    lea.lines()
    lea.send("METADATA * SUB state nothing")
    assert read(lea) == [
        ":spark 770 spark-lea state nothing",
        ":spark BATCH +1 metadata *ALL",
        "@batch=1 :spark 761 spark-lea #a state * :open",
        "@batch=1 :spark 761 spark-lea spark-lea state * :mine",
        "@batch=1 :spark 761 spark-lea spark-ori state * :ori is busy",
        "@batch=1 :spark 761 spark-lea spark-bo state * :bo is busy",
        "@batch=1 :spark 761 spark-lea spark-far state * :far is busy",
        ":spark BATCH -1",
    ]
    lea.send("METADATA * SUB state", "METADATA * SUB model")
    again, *more = read(lea)
    assert again == ":spark 770 spark-lea state"
    assert more[1:3] == [
        ":spark BATCH +1 metadata *ALL",
        "@batch=1 :spark 761 spark-lea spark-ori model * :x",
    ]
    lea.send("METADATA *ALL SYNC")
    synced = [" ".join(line.split(" ")[4:6]) for line in lea.lines() if " 761 " in line]
    assert synced == [
        "#a state",
        "spark-lea state",
        "spark-ori state",
        "spark-ori model",
        "spark-bo state",
        "spark-far state",
    ]


def test_who_subscribes_where_much_is_published_asks_for_it_later():
    network = Network(limits=Limits(metadata_changes_per_min=0))
    keys = " ".join(f"k{number}" for number in range(10))
    for channel in ("#a", "#b"):
        for number in range(30):
            member = network.client(f"spark-{channel[1]}{number}", channel)
            member.send(*(f"METADATA * SET {key} x" for key in keys.split(" ")))
    lea = network.client("spark-lea", "#a", "#b", caps=CAPS)
    lea.send(f"METADATA * SUB {keys}")
    lines = lea.lines()
    assert len(lines) == 2
    assert lines[-1] == f":spark 774 spark-lea *ALL 5 :{LATER}"


def test_who_comes_online_is_told_before_what_they_publish_and_that_once():
    network = Network()
    bo = network.client("spark-bo", caps=CAPS)
    bo.send("METADATA * SUB state", "MONITOR + spark-ori")
    bo.lines()
    ori = network.connect()
    ori.send("CAP REQ :draft/metadata-3 batch", "METADATA * SET state busy")
    ori.send("NICK spark-ori", "USER ori 0 * :ori", "CAP END")
    assert read(bo) == [
        ":spark 730 spark-bo :spark-ori!ori@spark",
        ":spark BATCH +1 metadata spark-ori",
        ":spark BATCH -1",
        ":spark 761 spark-bo spark-ori state * :busy",
    ]
