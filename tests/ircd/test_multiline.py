"""IRCv3 draft/multiline and client-batch: messages of several lines."""

import pytest
from support.network import Client, Network

from culture.config.ircd import Limits

WHOLE = "batch draft/multiline message-tags"
ECHO = f"{WHOLE} echo-message labeled-response"


def say(client: Client, *lines: str, target: str = "#a", opening: str = "") -> None:
    client.send(f"{opening}BATCH +1 draft/multiline {target}")
    client.send(*lines)
    client.send("BATCH -1")


HELLO = (
    "@batch=1 PRIVMSG #a hello",
    "@batch=1 PRIVMSG #a :",
    "@batch=1 privmsg #A :how is ",
    "@batch=1;draft/multiline-concat PRIVMSG #a :everyone?",
)


def test_readers_get_a_batch_or_its_lines():
    network = Network()
    ori = network.client("spark-ori", "#a", caps=WHOLE)
    whole = network.client("spark-whole", "#a", caps=WHOLE)
    tags = network.client("spark-tags", "#a", caps="message-tags")
    plain = network.client("spark-plain", "#a")
    for client in (ori, whole, tags):
        client.lines()
    say(ori, *HELLO)
    assert ori.lines() == []
    assert whole.lines() == [
        "@msgid=m5 :spark-ori!ori@spark BATCH +m5 draft/multiline #a",
        "@batch=m5 :spark-ori!ori@spark PRIVMSG #a :hello",
        "@batch=m5 :spark-ori!ori@spark PRIVMSG #a :",
        "@batch=m5 :spark-ori!ori@spark PRIVMSG #a :how is ",
        "@batch=m5;draft/multiline-concat :spark-ori!ori@spark PRIVMSG #a :everyone?",
        ":spark-ori!ori@spark BATCH -m5",
    ]
    assert tags.lines() == [
        "@msgid=m5 :spark-ori!ori@spark PRIVMSG #a :hello",
        ":spark-ori!ori@spark PRIVMSG #a :how is ",
        ":spark-ori!ori@spark PRIVMSG #a :everyone?",
    ]
    assert plain.lines() == [
        ":spark-ori!ori@spark PRIVMSG #a :hello",
        ":spark-ori!ori@spark PRIVMSG #a :how is ",
        ":spark-ori!ori@spark PRIVMSG #a :everyone?",
    ]


def test_nothing_is_said_before_the_batch_is_whole():
    network = Network()
    ori, bo = network.client("spark-ori", "#a", caps=WHOLE), network.client("spark-bo", "#a")
    ori.send("BATCH +1 draft/multiline #a", "@batch=1 PRIVMSG #a :hello", "PING x")
    assert bo.lines() == []
    assert ori.lines()[-1] == ":spark PONG spark :x"
    ori.send("BATCH -1")
    assert bo.lines() == [":spark-ori!ori@spark PRIVMSG #a :hello"]


def test_it_stands_between_what_was_said_before_and_after():
    network = Network()
    ori, bo = network.client("spark-ori", "#a", caps=WHOLE), network.client("spark-bo", "#a")
    ori.send("PRIVMSG #a :before")
    say(ori, "@batch=1 PRIVMSG #a :one", "@batch=1 PRIVMSG #a :two")
    ori.send("PRIVMSG #a :after")
    assert [line.rpartition(":")[2] for line in bo.lines()] == ["before", "one", "two", "after"]


def test_notices_people_and_operators_can_be_written_to():
    network = Network()
    ori, bo = network.client("spark-ori", "#a", caps=WHOLE), network.client("spark-bo", "#a")
    say(ori, "@batch=1 NOTICE spark-bo :one", "@batch=1 NOTICE spark-bo :two", target="spark-bo")
    assert bo.lines() == [
        ":spark-ori!ori@spark NOTICE spark-bo :one",
        ":spark-ori!ori@spark NOTICE spark-bo :two",
    ]
    ori.send("MODE #a +v spark-bo")
    bo.lines()
    say(ori, "@batch=1 PRIVMSG +#a :one", "@batch=1 PRIVMSG +#a :two", target="+#a")
    assert bo.lines() == [
        ":spark-ori!ori@spark PRIVMSG +#a :one",
        ":spark-ori!ori@spark PRIVMSG +#a :two",
    ]


def test_an_echo_is_the_answer_and_its_opening_has_the_label():
    network = Network()
    ori = network.client("spark-ori", "#a", caps=ECHO)
    say(ori, "@batch=1 PRIVMSG #a :one", "@batch=1 PRIVMSG #a :two", opening="@label=x;+reply=y ")
    assert ori.lines() == [
        "@label=x;msgid=m2;+reply=y :spark-ori!ori@spark BATCH +m2 draft/multiline #a",
        "@batch=m2 :spark-ori!ori@spark PRIVMSG #a :one",
        "@batch=m2 :spark-ori!ori@spark PRIVMSG #a :two",
        ":spark-ori!ori@spark BATCH -m2",
    ]


def test_without_an_echo_the_end_is_acknowledged():
    network = Network()
    ori = network.client("spark-ori", "#a", caps="batch draft/multiline labeled-response")
    ori.send("@label=x BATCH +1 draft/multiline #a", "@batch=1 PRIVMSG #a :one")
    assert ori.lines() == []
    ori.send("BATCH -1")
    assert ori.lines() == ["@label=x :spark ACK"]


def test_a_refusal_has_the_label_too():
    network = Network()
    ori = network.client("spark-ori", "#a", caps=ECHO)
    say(ori, "@batch=1 PRIVMSG #b :one", target="#b", opening="@label=x ")
    say(ori, "@batch=1 PRIVMSG #b :one", target="#a", opening="@label=y ")
    assert ori.lines() == [
        "@label=x :spark 403 spark-ori #b :No such channel",
        "@label=y :spark FAIL BATCH MULTILINE_INVALID_TARGET #a #b :Invalid multiline target",
    ]


def test_whoever_is_called_in_any_of_its_lines_is_called_once():
    network = Network()
    ori = network.client("spark-ori", "#a", caps=WHOLE)
    bo = network.client("spark-bo", "#a", caps="message-tags")
    lea = network.client("spark-lea")
    say(
        ori,
        "@batch=1 PRIVMSG #a :look",
        "@batch=1 PRIVMSG #a :here @spark-b",
        "@batch=1;draft/multiline-concat PRIVMSG #a :o @spark-lea",
        opening="@+reply=x ",
    )
    assert bo.lines() == [
        "@msgid=m3;agentirc.dev/mentions=spark-bo,spark-lea;+reply=x :spark-ori!ori@spark PRIVMSG #a :look",
        "@+reply=x :spark-ori!ori@spark PRIVMSG #a :here @spark-b",
        "@+reply=x :spark-ori!ori@spark PRIVMSG #a :o @spark-lea",
    ]
    assert lea.lines() == [":spark NOTICE spark-lea :spark-ori mentioned you in #a"]


@pytest.mark.parametrize(
    ("lines", "flaw"),
    [
        (["@batch=1 PRIVMSG #b :x"], "MULTILINE_INVALID_TARGET #a #b :Invalid multiline target"),
        (["@batch=1 PRIVMSG :x y"], "MULTILINE_INVALID_TARGET #a * :Invalid multiline target"),
        (["@batch=1 PRIVMSG #a :x"] * 5, "MULTILINE_MAX_LINES 4 :Multiline batch max-lines exceeded"),
        (
            ["@batch=1 PRIVMSG #a :" + "x" * 256] * 2,
            "MULTILINE_MAX_BYTES 512 :Multiline batch max-bytes exceeded",
        ),
        (
            ["@batch=1 PRIVMSG #a :x", "@batch=1;draft/multiline-concat PRIVMSG #a :"],
            "MULTILINE_INVALID :A blank line cannot be joined to the one before",
        ),
        (
            ["@batch=1 PRIVMSG #a :x", "@batch=1 NOTICE #a :y"],
            "MULTILINE_INVALID :A multiline batch has lines of PRIVMSG, or lines of NOTICE",
        ),
        (
            ["@batch=1 TOPIC #a :x"],
            "MULTILINE_INVALID :A multiline batch has lines of PRIVMSG, or lines of NOTICE",
        ),
        (["@batch=2 PRIVMSG #a :x"], "MULTILINE_INVALID :Another batch is open"),
        (
            ["@batch=1 PRIVMSG #a :", "@batch=1 PRIVMSG #a"],
            "MULTILINE_INVALID :A message of blank lines only",
        ),
        ([], "MULTILINE_INVALID :A message of blank lines only"),
        (
            ["BATCH +2 draft/multiline #a", "@batch=2 PRIVMSG #a :x"],
            "MULTILINE_INVALID :Another batch is open",
        ),
        (["BATCH -2"], "MULTILINE_INVALID :No such batch is open"),
    ],
)
def test_a_batch_with_a_flaw_is_answered_once_and_says_nothing(lines: list[str], flaw: str):
    network = Network(limits=Limits(multiline_length=512, multiline_lines=4))
    ori, bo = network.client("spark-ori", "#a", caps=WHOLE), network.client("spark-bo", "#a")
    ori.lines()
    say(ori, *lines)
    assert ori.lines() == [f":spark FAIL BATCH {flaw}"]
    assert bo.lines() == []
    say(ori, "@batch=1 PRIVMSG #a :the next one")
    assert bo.lines() == [":spark-ori!ori@spark PRIVMSG #a :the next one"]
    assert ori.lines() == []


@pytest.mark.parametrize(
    ("line", "flaw"),
    [
        ("BATCH -1", "No such batch is open"),
        ("BATCH 1", "A batch is opened by +reference and closed by -reference, not inside another"),
        ("BATCH +", "A batch is opened by +reference and closed by -reference, not inside another"),
        ("BATCH +1 netsplit a b", "A batch of a client is draft/multiline and has a target"),
        ("BATCH +1 draft/multiline", "A batch of a client is draft/multiline and has a target"),
    ],
)
def test_what_is_no_batch_is_refused(line: str, flaw: str):
    ori = Network().client("spark-ori", caps=WHOLE)
    ori.send(line)
    assert ori.lines() == [f":spark FAIL BATCH MULTILINE_INVALID :{flaw}"]


def test_the_limits_are_offered_and_hold_exactly():
    network = Network(limits=Limits(multiline_length=512, multiline_lines=3))
    ori, bo = network.client("spark-ori", "#a", caps=WHOLE), network.client("spark-bo", "#a")
    ori.lines()
    say(ori, *["@batch=1 PRIVMSG #a :" + "x" * 170] * 3)
    assert ori.lines() == []
    assert len(bo.lines()) == 3
    ori.send("CAP LS 302")
    assert "draft/multiline=max-bytes=512,max-lines=3" in " ".join(ori.lines())
    asker = Network(limits=Limits(multiline_lines=0)).connect()
    asker.send("CAP LS 302")
    assert "draft/multiline=max-bytes=16384 " in " ".join(asker.lines())


def test_whoever_says_something_else_gives_the_batch_up_with_all_that_follows():
    network = Network()
    ori, bo = network.client("spark-ori", "#a", caps=WHOLE), network.client("spark-bo", "#a")
    ori.lines()
    ori.send("BATCH +1 draft/multiline #a", "@batch=1 PRIVMSG #a :one", "PRIVMSG #a :two")
    assert ori.lines() == [
        ":spark FAIL BATCH MULTILINE_INVALID :PRIVMSG came before the end of the batch",
    ]
    ori.send("@batch=1 PRIVMSG #a :three", "BATCH -1", "PRIVMSG #a :four")
    assert ori.lines() == []
    assert bo.lines() == [
        ":spark-ori!ori@spark PRIVMSG #a :two",
        ":spark-ori!ori@spark PRIVMSG #a :four",
    ]
    assert ori.session.draft is None


def test_a_command_that_cuts_a_batch_off_is_answered_under_its_own_label():
    ori = Network().client("spark-ori", "#a", caps=ECHO)
    ori.send("@label=x BATCH +1 draft/multiline #a", "@label=y PRIVMSG #a :two", "@label=z BATCH -1")
    assert ori.lines() == [
        "@label=x :spark ACK",
        "@label=y :spark BATCH +m3 labeled-response",
        "@batch=m3 :spark FAIL BATCH MULTILINE_INVALID :PRIVMSG came before the end of the batch",
        "@batch=m3;msgid=m2 :spark-ori!ori@spark PRIVMSG #a :two",
        ":spark BATCH -m3",
        "@label=z :spark ACK",
    ]


@pytest.mark.parametrize(("second", "answered"), [("@label=y ", ["x", "y"]), ("", ["x"])])
def test_a_batch_inside_another_ends_both_and_both_are_answered(second: str, answered: list[str]):
    ori = Network().client("spark-ori", "#a", caps=ECHO)
    ori.send("@label=x BATCH +1 draft/multiline #a", f"{second}BATCH +2 draft/multiline #a")
    *others, last = ori.lines()
    assert others == [f"@label={label} :spark ACK" for label in answered[:-1]]
    assert last == f"@label={answered[-1]} :spark FAIL BATCH MULTILINE_INVALID :Another batch is open"
    ori.send("@batch=2 PRIVMSG #a :x", "BATCH -2")
    assert ori.lines() == []
    assert ori.session.draft is None


def test_a_batch_of_nothing_is_closed_all_the_same():
    ori = Network().client("spark-ori", "#a", caps=ECHO)
    ori.send("@label=x BATCH +1 draft/multiline #a", "BATCH -1")
    assert ori.lines() == ["@label=x :spark FAIL BATCH MULTILINE_INVALID :A message of blank lines only"]
    assert ori.session.draft is None


def test_each_of_two_labels_of_a_batch_is_answered():
    ori = Network().client("spark-ori", "#a", caps=ECHO)
    ori.send("@label=x BATCH +1 draft/multiline #a", "@batch=1 PRIVMSG #a :one", "@label=y BATCH -1")
    assert [line.split(" ")[0] for line in ori.lines()][:2] == ["@label=x", "@label=y;msgid=m2"]


@pytest.mark.parametrize(
    "flaw",
    [
        f"@batch=1 PRIVMSG #a :{'x' * 600}".encode(),
        b"@batch=1 PRIVMSG #a :\xff",
        b"@batch=1 PRIVMSG #a :a\0b",
        b"@batch=1 FOO #a",
        b"@batch=1 JOIN",
        b"@batch=1 USER a b c d",
        b"FOO",
        b"JOIN",
    ],
)
def test_a_message_is_not_sent_without_one_of_its_lines(flaw: bytes):
    network = Network()
    ori, bo = network.client("spark-ori", "#a", caps=WHOLE), network.client("spark-bo", "#a")
    ori.lines()
    ori.send("BATCH +1 draft/multiline #a", "@batch=1 PRIVMSG #a :one")
    ori.send_bytes(flaw + b"\r\n")
    ori.send("@batch=1 PRIVMSG #a :three", "BATCH -1")
    assert any(" FAIL BATCH MULTILINE_INVALID :" in line for line in ori.lines())
    assert bo.lines() == []
    assert ori.session.draft is None


def test_what_is_open_for_too_long_is_given_up_with_all_that_follows():
    network = Network(limits=Limits(multiline_timeout_s=10))
    ori, bo = network.client("spark-ori", "#a", caps=ECHO), network.client("spark-bo", "#a")
    ori.lines()
    ori.send("@label=x BATCH +1 draft/multiline #a", "@batch=1 PRIVMSG #a :one")
    network.clock.advance(9)
    network.ircd.tick()
    assert ori.lines() == []
    network.clock.advance(1)
    network.ircd.tick()
    network.ircd.tick()
    ori.send("@batch=1 PRIVMSG #a :two", "BATCH -1")
    assert ori.lines() == ["@label=x :spark FAIL BATCH TIMEOUT 1 :The batch was open for too long"]
    assert bo.lines() == []


def test_nothing_is_left_of_a_batch_whose_sender_is_gone():
    network = Network()
    ori, bo = network.client("spark-ori", "#a", caps=WHOLE), network.client("spark-bo", "#a")
    ori.send("BATCH +1 draft/multiline #a", "@batch=1 PRIVMSG #a :one", "QUIT :bye")
    assert bo.lines() == [":spark-ori!ori@spark QUIT :Quit: bye"]
    assert ori.session.draft is None


def test_the_capabilities_are_needed_to_send():
    network = Network()
    for caps in ("draft/multiline", "batch standard-replies"):
        client = network.client("spark-ori", caps=caps)
        client.send("BATCH +1 draft/multiline #a")
        assert client.lines() == [
            ":spark FAIL BATCH MULTILINE_INVALID :Batches need the capabilities batch and draft/multiline"
        ]
        client.drop()


def test_a_line_in_the_middle_is_no_way_around_the_modes_of_a_channel():
    network = Network()
    ori, bo = network.client("spark-ori", "#a", caps=WHOLE), network.client("spark-bo", "#a")
    ori.send("MODE #a +C")
    ori.lines()
    bo.lines()
    say(ori, "@batch=1 PRIVMSG #a :x", "@batch=1 PRIVMSG #a :\x01VERSION\x01")
    assert ori.numerics() == ["404"]
    assert bo.lines() == []


def test_each_line_is_cut_where_a_line_has_to_end():
    network = Network()
    ori, bo = network.client("spark-ori", "#a", caps=WHOLE), network.client("spark-bo", "#a")
    say(ori, *["@batch=1 PRIVMSG #a :" + "é" * 240] * 2)
    assert all(508 <= len(line.encode()) <= 510 for line in bo.lines())
