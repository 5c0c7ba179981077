"""IRCv3 monitor and extended-monitor."""

from support.network import Network

from culture.config.ircd import Limits
from culture.names import fold


def test_who_is_watched_is_reported_at_once():
    network = Network()
    ori = network.client("spark-ori")
    network.client("spark-bo")
    ori.send(f"MONITOR + spark-BO,spark-lea,not!a@nick,{'n' * 65}")
    assert ori.lines() == [
        ":spark 730 spark-ori :spark-bo!bo@spark",
        ":spark 731 spark-ori :spark-lea",
    ]


def test_coming_going_and_renaming_are_told():
    network = Network()
    ori = network.client("spark-ori")
    ori.send("MONITOR + spark-bo,spark-lea")
    ori.lines()
    bo = network.client("spark-bo")
    assert ori.lines() == [":spark 730 spark-ori :spark-bo!bo@spark"]
    bo.send("NICK SPARK-BO")
    assert ori.lines() == []
    bo.send("NICK spark-lea")
    assert ori.lines() == [":spark 731 spark-ori :SPARK-BO", ":spark 730 spark-ori :spark-lea!bo@spark"]
    bo.drop()
    assert ori.lines() == [":spark 731 spark-ori :spark-lea"]


def test_the_list_can_be_read_shortened_and_cleared():
    network = Network()
    ori = network.client("spark-ori")
    network.client("spark-bo")
    ori.send("MONITOR + Spark-Bo,spark-lea,spark-bo")
    ori.lines()
    ori.send("MONITOR L", "MONITOR S", "MONITOR - SPARK-bo,spark-nobody", "MONITOR l")
    assert ori.lines() == [
        ":spark 732 spark-ori :Spark-Bo,spark-lea",
        ":spark 733 spark-ori :End of MONITOR list",
        ":spark 730 spark-ori :spark-bo!bo@spark",
        ":spark 731 spark-ori :spark-lea",
        ":spark 732 spark-ori :spark-lea",
        ":spark 733 spark-ori :End of MONITOR list",
    ]
    ori.send("MONITOR C", "MONITOR L", "MONITOR S")
    assert ori.lines() == [":spark 733 spark-ori :End of MONITOR list"]
    network.client("spark-lea")
    assert ori.lines() == []


def test_who_is_on_the_list_already_is_not_reported_again():
    network = Network()
    ori = network.client("spark-ori")
    network.client("spark-bo")
    ori.send("MONITOR + spark-bo,spark-lea", "MONITOR + SPARK-BO,spark-lea,spark-mia")
    assert ori.lines() == [
        ":spark 730 spark-ori :spark-bo!bo@spark",
        ":spark 731 spark-ori :spark-lea",
        ":spark 731 spark-ori :spark-mia",
    ]


def test_a_full_list_says_what_did_not_fit():
    network = Network(limits=Limits(monitored_nicks=2))
    ori = network.client("spark-ori")
    ori.send("MONITOR + a,b,c,d", "MONITOR + B")
    assert ori.lines() == [":spark 731 spark-ori :a,b", ":spark 734 spark-ori 2 c,d :Monitor list is full"]


def test_all_that_did_not_fit_is_told():
    ori = Network(limits=Limits(monitored_nicks=1)).client("spark-ori")
    nicks = [f"{letter * 60}" for letter in "abcdefgh"]
    ori.send(f"MONITOR + {','.join(nicks)}")
    lines = [line for line in ori.lines() if " 734 " in line]
    assert all(line.endswith(" :Monitor list is full") and len(line) <= 510 for line in lines)
    assert ",".join(line.split(" ")[4] for line in lines).split(",") == nicks[1:]


def test_a_long_list_comes_in_several_lines():
    network = Network(limits=Limits(monitored_nicks=200))
    ori = network.client("spark-ori")
    nicks = [f"spark-{number:03}" for number in range(90)]
    ori.send(f"MONITOR + {','.join(nicks[:45])}", f"MONITOR + {','.join(nicks[45:])}")
    ori.lines()
    ori.send("MONITOR L")
    *lines, end = ori.lines()
    assert len(lines) > 1
    assert ",".join(line.rpartition(":")[2] for line in lines) == ",".join(nicks)
    assert end == ":spark 733 spark-ori :End of MONITOR list"


def test_what_is_no_subcommand_is_refused():
    ori = Network().client("spark-ori")
    ori.send("MONITOR", "MONITOR +", "MONITOR -", "MONITOR x")
    assert ori.numerics() == ["461", "461", "461", "400"]


def test_nothing_is_left_of_who_left():
    network = Network()
    ori = network.client("spark-ori")
    ori.send("MONITOR + spark-bo,spark-lea")
    ori.drop()
    watchers = network.ircd.state.monitors
    assert not watchers.everyone
    assert not watchers.of(fold("spark-bo"))


def test_with_extended_monitor_changes_are_told_without_a_common_channel():
    network = Network()
    ori = network.client("spark-ori", caps="extended-monitor away-notify setname")
    lea = network.client("spark-lea", caps="away-notify setname")
    bo = network.client("spark-bo")
    for client in (ori, lea):
        client.send("MONITOR + spark-bo")
        client.lines()
    bo.send("AWAY :lunch", "SETNAME :Bo B.", "AWAY")
    assert ori.lines() == [
        ":spark-bo!bo@spark AWAY :lunch",
        ":spark-bo!bo@spark SETNAME :Bo B.",
        ":spark-bo!bo@spark AWAY",
    ]
    assert lea.lines() == []


def test_with_extended_monitor_a_change_is_told_once():
    network = Network()
    ori = network.client("spark-ori", "#a", caps="extended-monitor away-notify")
    bo = network.client("spark-bo", "#a")
    ori.send("MONITOR + spark-bo")
    ori.lines()
    bo.send("AWAY :lunch")
    assert ori.lines() == [":spark-bo!bo@spark AWAY :lunch"]


def test_a_list_without_a_bound_is_never_full():
    network = Network(limits=Limits(monitored_nicks=0))
    ori = network.client("spark-ori")
    ori.send(*(f"MONITOR + n{number}" for number in range(200)), "VERSION")
    lines = ori.lines()
    assert sum(" 731 " in line for line in lines) == 200
    assert "MONITOR" in {token for line in lines for token in line.split(" ")}
