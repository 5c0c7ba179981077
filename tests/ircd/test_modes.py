"""RFC 2812 sections 3.1.5 and 3.2.3: MODE."""

from support.network import Network


def channel_of_two():
    network = Network()
    ori, bo = network.client("spark-ori", "#a"), network.client("spark-bo", "#a")
    ori.lines()
    return ori, bo


def test_the_modes_of_a_channel_can_be_asked_for():
    ori, _ = channel_of_two()
    ori.send("MODE #a")
    assert ori.lines() == [":spark 324 spark-ori #a +nt", ":spark 329 spark-ori #a 1000000"]


def test_operators_make_operators_and_take_it_back():
    ori, bo = channel_of_two()
    ori.send("MODE #a +o spark-BO")
    assert ori.lines() == bo.lines() == [":spark-ori!ori@spark MODE #a +o spark-bo"]
    bo.send("MODE #a -o spark-ori")
    assert ori.lines() == [":spark-bo!bo@spark MODE #a -o spark-ori"]
    ori.send("MODE #a +o spark-ori")
    assert ori.lines() == [":spark 482 spark-ori #a :You're not channel operator"]


def test_several_changes_are_told_in_one_line_and_only_those_that_took_effect():
    ori, bo = channel_of_two()
    ori.send("MODE #a +v-t+nm+o spark-bo spark-bo")
    assert bo.lines() == [":spark-ori!ori@spark MODE #a +v-t+mo spark-bo spark-bo"]
    ori.lines()
    ori.send("MODE #a +vm spark-bo")
    assert ori.lines() == []
    ori.send("MODE #a")
    assert ori.lines()[0] == ":spark 324 spark-ori #a +mn"


def test_what_cannot_be_changed_is_refused_and_the_rest_takes_effect():
    ori, _ = channel_of_two()
    ori.send("MODE #a +Xov-t spark-nobody spark-bo")
    assert ori.lines() == [
        ":spark 472 spark-ori X :is unknown mode char to me",
        ":spark 401 spark-ori spark-nobody :No such nick/channel",
        ":spark-ori!ori@spark MODE #a +v-t spark-bo",
    ]
    ori.send("MODE #a +o")
    assert ori.lines() == [":spark 461 spark-ori MODE :Not enough parameters"]


def test_a_member_that_is_elsewhere_cannot_be_made_operator():
    network = Network()
    ori = network.client("spark-ori", "#a")
    network.client("spark-lea")
    ori.send("MODE #a +o spark-lea", "MODE #nope +o spark-ori")
    assert ori.lines() == [
        ":spark 441 spark-ori spark-lea #a :They aren't on that channel",
        ":spark 403 spark-ori #nope :No such channel",
    ]


def test_one_sets_ones_own_modes_and_nobody_elses():
    ori, _ = channel_of_two()
    ori.send("MODE spark-ori", "MODE spark-ori +i", "MODE SPARK-ORI +i", "MODE spark-ori")
    assert ori.lines() == [
        ":spark 221 spark-ori +",
        ":spark-ori!ori@spark MODE spark-ori +i",
        ":spark 221 spark-ori +i",
    ]
    ori.send("MODE spark-ori +o-i", "MODE spark-bo +i", "MODE spark-nobody")
    assert ori.lines() == [
        ":spark-ori!ori@spark MODE spark-ori -i",
        ":spark 501 spark-ori :Unknown MODE flag",
        ":spark 502 spark-ori :Can't change mode for other users",
        ":spark 401 spark-ori spark-nobody :No such nick/channel",
    ]


def test_asking_for_bans_finds_none():
    _, bo = channel_of_two()
    bo.send("MODE #a b", "MODE #a +b")
    assert bo.lines() == [":spark 368 spark-bo #a :End of channel ban list"] * 2
