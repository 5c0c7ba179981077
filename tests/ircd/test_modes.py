"""RFC 2812 sections 3.1.5 and 3.2.3: MODE."""

import pytest
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


def test_changes_may_follow_behind_the_parameters_of_others():
    ori, bo = channel_of_two()
    ori.send("MODE #a +b *!*@*.edu +e *!*@*.bu.edu", "MODE #a +v spark-bo -t+l 5 left over")
    assert bo.lines() == [
        ":spark-ori!ori@spark MODE #a +be *!*@*.edu *!*@*.bu.edu",
        ":spark-ori!ori@spark MODE #a +v-t+l spark-bo 5",
    ]
    ori.lines()
    ori.send("MODE spark-ori +iw -i +R")
    assert ori.lines() == [":spark-ori!ori@spark MODE spark-ori +iw-i+R"]


def test_so_many_changes_take_effect_whatever_stands_between_them():
    network = Network()
    nicks = [f"spark-{letter}" for letter in "abcdefghijkl"]
    ori = network.client("spark-ori", "#a")
    for nick in nicks:
        network.client(nick, "#a")
    ori.lines()
    ori.send(f"MODE #a {' '.join(f'+v {nick}' for nick in nicks)}")
    assert ori.lines() == [f":spark-ori!ori@spark MODE #a +{'v' * 10} {' '.join(nicks[:10])}"]


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
    ori.send("MODE spark-ori +oX-i", "MODE spark-bo +i", "MODE spark-nobody")
    assert ori.lines() == [
        ":spark-ori!ori@spark MODE spark-ori -i",
        ":spark 501 spark-ori :Unknown MODE flag",
        ":spark 502 spark-ori :Can't change mode for other users",
        ":spark 401 spark-ori spark-nobody :No such nick/channel",
    ]


def test_a_key_and_a_limit_are_set_changed_and_taken_back():
    ori, bo = channel_of_two()
    ori.send(
        "MODE #a +lk 010 sesame", "MODE #a +k sesame", "MODE #a +kl other 5", "MODE #a -k x", "MODE #a -kl"
    )
    assert bo.lines() == [
        ":spark-ori!ori@spark MODE #a +lk 10 sesame",
        ":spark-ori!ori@spark MODE #a +kl other 5",
        ":spark-ori!ori@spark MODE #a -k other",
        ":spark-ori!ori@spark MODE #a -l",
    ]


def test_the_key_and_the_limit_are_shown_to_members():
    network = Network()
    ori, lea = network.client("spark-ori", "#a"), network.client("spark-lea")
    ori.send("MODE #a +kl sesame 7")
    ori.lines()
    ori.send("MODE #a")
    lea.send("MODE #a")
    assert ori.lines()[0] == ":spark 324 spark-ori #a +ntkl sesame 7"
    assert lea.lines()[0] == ":spark 324 spark-lea #a +ntkl"


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ("+k", "461 spark-ori MODE :Not enough parameters"),
        ("+k :", "696 spark-ori #a k * :A key is one word of at most 32 bytes"),
        ("+k :a b", "696 spark-ori #a k * :A key is one word of at most 32 bytes"),
        ("+k a,b", "696 spark-ori #a k a,b :A key is one word of at most 32 bytes"),
        ("+l", "461 spark-ori MODE :Not enough parameters"),
        ("+l 0", "696 spark-ori #a l 0 :A limit is a positive number"),
        ("+l -3", "696 spark-ori #a l -3 :A limit is a positive number"),
        ("+l many", "696 spark-ori #a l many :A limit is a positive number"),
        ("+l 99999999999", "696 spark-ori #a l 99999999999 :A limit is a positive number"),
    ],
)
def test_a_parameter_that_makes_no_sense_is_refused(changes: str, refusal: str):
    ori, _ = channel_of_two()
    ori.send(f"MODE #a {changes}")
    assert ori.lines() == [f":spark {refusal}"]


def test_the_same_mistake_is_refused_once():
    ori, _ = channel_of_two()
    ori.send("MODE #a +XXXYXooo")
    assert ori.numerics() == ["472", "472", "461"]


def test_half_operators_change_everything_but_operators():
    ori, bo = channel_of_two()
    ori.send("MODE #a +h spark-bo")
    bo.lines()
    bo.send("MODE #a +m-o+v-t spark-ori spark-bo", "TOPIC #a :mine", "MODE #a -h spark-bo", "MODE #a -m")
    assert bo.lines() == [
        ":spark 482 spark-bo #a :You're not channel operator",
        ":spark-bo!bo@spark MODE #a +mv-t spark-bo",
        ":spark-bo!bo@spark TOPIC #a :mine",
        ":spark-bo!bo@spark MODE #a -h spark-bo",
        ":spark 482 spark-bo #a :You're not channel operator",
    ]


def test_changes_that_do_not_fit_in_a_line_are_told_in_several():
    ori, bo = channel_of_two()
    masks = [f"{letter * 43}@x" for letter in "abcdefghij"]
    ori.send(f"MODE #a +bbbbbbbbbb {' '.join(masks)}")
    lines = bo.lines()
    assert len(lines) == 2
    assert all(len(line.encode()) <= 510 for line in lines)
    assert [word for line in lines for word in line.split(" ")[4:]] == [f"*!{mask}" for mask in masks]
    bo.send("MODE #a b")
    assert len(bo.lines()) == 11


def test_what_is_too_much_for_one_command_is_left_out():
    ori = Network().client("spark-ori", "#a")
    ori.send("MODE #a +" + "b" * 12 + "m " + " ".join(f"n{i}!*@*" for i in range(12)))
    (line,) = ori.lines()
    assert line.split(" ")[3] == "+" + "b" * 10 + "m"


def test_a_mode_of_nothing_has_too_few_parameters():
    ori = Network().client("spark-ori", "#a")
    ori.send("MODE", "MODE :")
    assert ori.lines() == [":spark 461 spark-ori MODE :Not enough parameters"] * 2


def test_a_mode_that_is_none_is_unknown_to_everybody():
    network = Network()
    network.client("spark-ori", "#a")
    bo = network.client("spark-bo", "#a")
    bo.send("MODE #a +ZZt", "MODE #a -t+Z")
    assert bo.lines() == [
        ":spark 472 spark-bo Z :is unknown mode char to me",
        ":spark 482 spark-bo #a :You're not channel operator",
        ":spark 482 spark-bo #a :You're not channel operator",
    ]


@pytest.mark.parametrize(
    "typed",
    ["+k :", "+k :a b", "+k ::x", "+k x\x07y", f"+k {'x' * 350}", "+l :", "+l :1 2", f"+l {'1' * 350}"],
)
def test_a_parameter_that_cannot_be_repeated_is_a_star(typed: str):
    """Modern IRC, ERR_INVALIDMODEPARAM (696): the parameter stands in the middle of the line."""
    ori = Network().client("spark-ori", "#a")
    ori.send(f"MODE #a {typed}")
    (line,) = ori.lines()
    assert line.startswith(f":spark 696 spark-ori #a {typed[1]} * :")
