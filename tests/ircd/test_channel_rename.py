"""IRCv3 draft/channel-rename: a channel gets another name."""

import pytest
from support.network import Network

from culture.config.ircd import Limits

CAP = "draft/channel-rename"


def test_those_who_know_read_it_and_others_leave_and_join_again():
    network = Network()
    ori = network.client("spark-ori", "#old", caps=CAP)
    bo = network.client("spark-bo", "#old")
    lea = network.client("spark-lea", "#old", caps="extended-join no-implicit-names")
    ori.send("TOPIC #old :work")
    for client in (ori, bo, lea):
        client.lines()
    ori.send("RENAME #OLD #new :a better one")
    assert ori.lines() == [":spark-ori!ori@spark RENAME #old #new :a better one"]
    assert bo.lines() == [
        ":spark-bo!bo@spark PART #old :a better one",
        ":spark-bo!bo@spark JOIN #new",
        ":spark 332 spark-bo #new :work",
        ":spark 333 spark-bo #new spark-ori!ori@spark 1000000",
        ":spark 353 spark-bo = #new :@spark-ori spark-bo spark-lea",
        ":spark 366 spark-bo #new :End of /NAMES list",
    ]
    assert lea.lines()[:2] == [
        ":spark-lea!lea@spark PART #old :a better one",
        ":spark-lea!lea@spark JOIN #new * :spark-lea",
    ]


def test_all_that_was_in_the_channel_is_in_it_still_and_the_old_name_is_free():
    network = Network()
    ori, bo = network.client("spark-ori", "#old", caps=CAP), network.client("spark-bo", "#old")
    ori.send("MODE #old +sb-n x!*@*", "MODE #old +v spark-bo", "RENAME #old #new")
    assert ori.lines()[-1] == ":spark-ori!ori@spark RENAME #old #new :"
    ori.send("MODE #new", "MODE #new +b", "PRIVMSG #old :x", "PRIVMSG #new :y")
    assert ori.numerics() == ["324", "329", "367", "368", "403"]
    assert bo.lines()[-1] == ":spark-ori!ori@spark PRIVMSG #new :y"
    bo.send("PART #new", "JOIN #old")
    assert bo.lines()[1:3] == [":spark-bo!bo@spark JOIN #old", ":spark 353 spark-bo = #old :@spark-bo"]


def test_another_case_is_the_same_name_and_tells_only_those_who_know():
    network = Network()
    ori, bo = network.client("spark-ori", "#ops", caps=CAP), network.client("spark-bo", "#ops")
    ori.lines()
    ori.send("RENAME #ops #Ops", "PRIVMSG #ops :x")
    assert ori.lines() == [":spark-ori!ori@spark RENAME #ops #Ops :"]
    assert bo.lines() == [":spark-ori!ori@spark PRIVMSG #Ops :x"]


def test_whoever_does_not_know_the_answer_may_rename_all_the_same():
    ori = Network().client("spark-ori", "#a")
    ori.send("RENAME #a #b")
    assert ori.lines() == [
        ":spark-ori!ori@spark PART #a",
        ":spark-ori!ori@spark JOIN #b",
        ":spark 353 spark-ori = #b :@spark-ori",
        ":spark 366 spark-ori #b :End of /NAMES list",
    ]


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("RENAME #a", "461 spark-ori RENAME :Not enough parameters"),
        ("RENAME #none #b", "403 spark-ori #none :No such channel"),
        ("RENAME #theirs #b", "442 spark-ori #theirs :You're not on that channel"),
        ("RENAME #shared #b", "482 spark-ori #shared :You're not channel operator"),
        (
            "RENAME #a #SHARED",
            "FAIL RENAME CHANNEL_NAME_IN_USE #a #SHARED :There is already a channel of that name",
        ),
        ("RENAME #a b", "FAIL RENAME CANNOT_RENAME #a b :Not a valid channel name"),
        ("RENAME #a #", "FAIL RENAME CANNOT_RENAME #a # :Not a valid channel name"),
        ("RENAME #a #b,#c", "FAIL RENAME CANNOT_RENAME #a #b,#c :Not a valid channel name"),
        ("RENAME #a #123456789", "FAIL RENAME CANNOT_RENAME #a #123456789 :Not a valid channel name"),
        ("RENAME #a #a", "FAIL RENAME CANNOT_RENAME #a #a :The channel already has that name"),
    ],
)
def test_what_cannot_be_renamed_is_refused(typed: str, answer: str):
    network = Network(limits=Limits(channel_length=9))
    bo = network.client("spark-bo", "#theirs", "#shared")
    ori = network.client("spark-ori", "#a", "#shared")
    bo.lines()
    ori.send(typed)
    assert ori.lines() == [f":spark {answer}"]
    assert bo.lines() == []


def test_a_crowd_is_not_made_to_join_again_at_once():
    network = Network()
    ori = network.client("spark-ori", "#a", caps=CAP)
    for number in range(20):
        network.client(f"spark-c{number}", "#a")
    ori.send("RENAME #a #b")
    ori.lines()
    ori.send("RENAME #b #a", "RENAME #b #B")
    assert ori.lines() == [
        ":spark FAIL RENAME CANNOT_RENAME #b #a :This channel has been renamed recently",
        ":spark-ori!ori@spark RENAME #b #B :",
    ]
    network.clock.advance(2)
    ori.send("RENAME #B #a")
    assert ori.lines() == [":spark-ori!ori@spark RENAME #B #a :"]
