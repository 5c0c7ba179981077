"""RFC 2812 section 3.3: PRIVMSG and NOTICE; IRCv3 message-tags, echo-message, server-time."""

import pytest
from support.network import Network

from culture.config.ircd import Limits


def test_a_message_reaches_the_others_in_the_channel_and_not_its_sender():
    network = Network()
    ori, bo = network.client("spark-ori", "#ops"), network.client("spark-bo", "#ops")
    stranger = network.client("spark-lea")
    ori.lines()
    ori.send("PRIVMSG #OPS :disk is full")
    assert bo.lines() == [":spark-ori!ori@spark PRIVMSG #ops :disk is full"]
    assert ori.lines() == []
    assert stranger.lines() == []


def test_a_list_of_targets_gets_it_each_once():
    network = Network()
    ori, bo, lea = network.client("spark-ori"), network.client("spark-bo"), network.client("spark-lea")
    ori.send("PRIVMSG spark-bo,spark-lea,SPARK-BO,spark-nobody :hi")
    assert bo.lines() == [":spark-ori!ori@spark PRIVMSG spark-bo :hi"]
    assert lea.lines() == [":spark-ori!ori@spark PRIVMSG spark-lea :hi"]
    assert ori.lines() == [":spark 401 spark-ori spark-nobody :No such nick/channel"]


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("PRIVMSG", "411 spark-ori :No recipient given (PRIVMSG)"),
        ("PRIVMSG #a", "412 spark-ori :No text to send"),
        ("PRIVMSG #a :", "412 spark-ori :No text to send"),
        ("PRIVMSG #nope :x", "403 spark-ori #nope :No such channel"),
        ("PRIVMSG #theirs :x", "404 spark-ori #theirs :Cannot send to channel (+n): you are not a member"),
        ("PRIVMSG a,b,c :x", "407 spark-ori c :Too many targets: at most 2 in one line"),
    ],
)
def test_what_cannot_be_said_is_refused_and_a_notice_never_is(line: str, answer: str):
    network = Network(limits=Limits(targets=2))
    ori = network.client("spark-ori", "#a")
    network.client("spark-bo", "#theirs")
    ori.send(line)
    assert ori.lines() == [f":spark {answer}"]
    ori.send(line.replace("PRIVMSG", "NOTICE"))
    assert ori.lines() == []


def test_a_moderated_channel_hears_operators_and_voices():
    network = Network()
    ori, bo = network.client("spark-ori", "#a"), network.client("spark-bo", "#a")
    ori.send("MODE #a +m")
    bo.lines()
    bo.send("PRIVMSG #a :x")
    assert bo.lines() == [":spark 404 spark-bo #a :Cannot send to channel (+m)"]
    ori.send("MODE #a +v spark-bo")
    ori.lines()
    bo.send("PRIVMSG #a :y")
    assert ori.lines() == [":spark-bo!bo@spark PRIVMSG #a :y"]


def test_without_n_outsiders_may_speak():
    network = Network()
    ori, bo = network.client("spark-ori", "#a"), network.client("spark-bo")
    ori.send("MODE #a -n")
    ori.lines()
    bo.send("PRIVMSG #a :hello in there")
    assert ori.lines() == [":spark-bo!bo@spark PRIVMSG #a :hello in there"]


def test_an_echo_comes_to_those_who_asked():
    network = Network()
    ori = network.client("spark-ori", "#a", caps="echo-message")
    bo = network.client("spark-bo")
    ori.send("PRIVMSG #a :x", "PRIVMSG spark-bo :y")
    assert ori.lines() == [
        ":spark-ori!ori@spark PRIVMSG #a :x",
        ":spark-ori!ori@spark PRIVMSG spark-bo :y",
    ]
    assert bo.lines() == [":spark-ori!ori@spark PRIVMSG spark-bo :y"]


def test_one_may_write_to_oneself():
    network = Network()
    for caps, times in (("", 1), ("echo-message", 2)):
        ori = network.client("spark-ori", caps=caps)
        ori.send("PRIVMSG spark-ori :note to self")
        assert ori.lines() == [":spark-ori!ori@spark PRIVMSG spark-ori :note to self"] * times
        ori.drop()


def test_the_time_comes_to_those_who_asked_on_every_line():
    network = Network()
    ori = network.client("spark-ori", "#a", caps="server-time")
    bo = network.client("spark-bo", "#a")
    ori.lines()
    bo.send("PRIVMSG #a :x")
    ori.send("PING y")
    assert ori.lines() == [
        "@time=1970-01-12T13:46:40.000Z :spark-bo!bo@spark PRIVMSG #a :x",
        "@time=1970-01-12T13:46:40.000Z :spark PONG spark :y",
    ]


def test_client_only_tags_pass_between_those_who_have_tags_and_others_do_not():
    network = Network()
    ori = network.client("spark-ori", "#a", caps="message-tags")
    bo = network.client("spark-bo", "#a", caps="message-tags")
    lea = network.client("spark-lea", "#a")
    bo.lines()
    ori.send(r"@+reply=x\sy;time=1;fake=2 PRIVMSG #a :hi", "@+typing=active TAGMSG #a")
    assert bo.lines() == [
        r"@msgid=m4;+reply=x\sy :spark-ori!ori@spark PRIVMSG #a :hi",
        "@msgid=m5;+typing=active :spark-ori!ori@spark TAGMSG #a",
    ]
    assert lea.lines() == [":spark-ori!ori@spark PRIVMSG #a :hi"]
    lea.send("@+reply=x PRIVMSG #a :not negotiated")
    assert bo.lines() == ["@msgid=m6 :spark-lea!lea@spark PRIVMSG #a :not negotiated"]


def test_a_text_that_no_longer_fits_behind_the_mask_is_cut_between_characters():
    network = Network()
    ori, bo = network.client("spark-ori", "#a"), network.client("spark-bo", "#a")
    ori.send("PRIVMSG #a :" + "é" * 240)
    (line,) = bo.lines()
    assert 508 <= len(line.encode()) <= 510
    assert set(line.partition(" :")[2]) == {"é"}


def test_input_that_is_not_utf8_is_refused_whole():
    network = Network()
    ori, bo = network.client("spark-ori", "#a"), network.client("spark-bo", "#a")
    ori.lines()
    ori.send_bytes(b"@a PRIVMSG #a :caf\xe9\r\ncaf\xe9 #a\r\n")
    assert ori.lines() == [
        ":spark FAIL PRIVMSG INVALID_UTF8 :Your line is not UTF-8 and was dropped",
        ":spark FAIL * INVALID_UTF8 :Your line is not UTF-8 and was dropped",
    ]
    assert bo.lines() == []
    labeling = network.client("spark-lea", caps="labeled-response batch standard-replies")
    labeling.send_bytes(b"@label=x PRIVMSG #a :\xff\r\n@label=y PRIVMSG #a :\0\r\n@label=\xff PING x\r\n")
    assert [line.split(" :")[0] for line in labeling.lines()] == [
        "@label=x",
        "@label=y",
        ":spark FAIL PING INVALID_UTF8",
    ]


@pytest.mark.parametrize(
    "command", ["é", "p\N{LATIN SMALL LETTER DOTLESS I}ng", "u\N{LATIN SMALL LETTER LONG S}ers"]
)
def test_letters_of_other_scripts_make_no_command(command: str):
    ori = Network().client("spark-ori")
    ori.send(f"{command} x y")
    assert ori.lines() == [f":spark 421 spark-ori {command} :Unknown command"]


@pytest.mark.parametrize("command", ["NOSUCH", "N0SUCH", "1234", "NO_SUCH"])
def test_what_is_no_command_is_unknown(command: str):
    ori = Network().client("spark-ori")
    ori.send(f"{command.lower()} x y")
    assert ori.lines() == [f":spark 421 spark-ori {command} :Unknown command"]


def test_a_character_cut_by_a_packet_arrives_whole():
    network = Network()
    ori, bo = network.client("spark-ori", "#a"), network.client("spark-bo", "#a")
    raw = "PRIVMSG #a :naïve ☃\r\n".encode()
    for i in range(len(raw)):
        ori.send_bytes(raw[i : i + 1])
    assert bo.lines() == [":spark-ori!ori@spark PRIVMSG #a :naïve ☃"]


def test_an_overlong_line_is_answered_and_does_nothing():
    network = Network()
    ori, bo = network.client("spark-ori", "#a"), network.client("spark-bo", "#a")
    ori.lines()
    ori.send("PRIVMSG #a :" + "x" * 600 + " QUIT")
    assert ori.lines() == [":spark 417 spark-ori :Input line was too long"]
    assert bo.lines() == []


@pytest.mark.parametrize("raw", [b"PRIVMSG #a :a\0b\r\n", b"PRIVMSG #a :a\rQUIT\r\n", b":x\r\n", b"@a\r\n"])
def test_hostile_bytes_are_answered_and_do_nothing(raw: bytes):
    network = Network()
    ori, bo = network.client("spark-ori", "#a"), network.client("spark-bo", "#a")
    ori.lines()
    ori.send_bytes(raw)
    (answer,) = ori.lines()
    assert answer.startswith(":spark NOTICE spark-ori :Your line")
    assert bo.lines() == []


@pytest.mark.parametrize("raw", [b"\r\n", b"\n", b"\r\r\n", b"   \r\n"])
def test_a_line_with_nothing_in_it_is_ignored(raw: bytes):
    ori = Network().client("spark-ori")
    ori.send_bytes(raw)
    assert ori.lines() == []


def test_a_reader_that_stops_is_closed_alone():
    network = Network(limits=Limits(sendq_bytes=16384))
    ori = network.client("spark-ori", "#a")
    stuck, healthy = network.client("spark-stuck", "#a"), network.client("spark-healthy", "#a")
    said = 0
    while not stuck.is_closed:
        ori.send(f"PRIVMSG #a :{'x' * 400}")
        said += 1
        network.flush()
        network.ircd.held_back(stuck.session, stuck.unread_bytes)
        lines = healthy.lines()
        if not stuck.is_closed:
            assert len(lines) == 1
    assert said < 50
    assert lines[-1] == ":spark-stuck!stuck@spark QUIT :SendQ exceeded"
    assert stuck.lines()[-1] == "ERROR :Closing Link: spark (SendQ exceeded)"
    ori.send("PRIVMSG #a :still here")
    assert healthy.lines() == [":spark-ori!ori@spark PRIVMSG #a :still here"]


# Mentions: culture/protocol/extensions/mentions.md


def test_a_mention_is_flagged_to_readers_with_tags():
    network = Network()
    ori = network.client("spark-ori", "#ops")
    claude = network.client("spark-claude", "#ops", caps="message-tags")
    bo = network.client("spark-bo", "#ops")
    claude.lines()
    ori.send("PRIVMSG #ops :@Spark-Claude and @spark-bo: look at the disk", "NOTICE #ops :@spark-bo done")
    assert claude.lines() == [
        "@msgid=m4;agentirc.dev/mentions=spark-claude,spark-bo "
        ":spark-ori!ori@spark PRIVMSG #ops :@Spark-Claude and @spark-bo: look at the disk",
        "@msgid=m5;agentirc.dev/mentions=spark-bo :spark-ori!ori@spark NOTICE #ops :@spark-bo done",
    ]
    assert bo.lines() == [
        ":spark-ori!ori@spark PRIVMSG #ops :@Spark-Claude and @spark-bo: look at the disk",
        ":spark-ori!ori@spark NOTICE #ops :@spark-bo done",
    ]


def test_whoever_is_called_from_a_channel_they_are_not_in_gets_one_notice():
    network = Network()
    ori, lea = network.client("spark-ori", "#ops"), network.client("spark-lea", "#other")
    ori.send("PRIVMSG #ops :@spark-lea @spark-lea @spark-nobody, see ori@spark-lea and `@spark-lea`")
    assert lea.lines() == [":spark NOTICE spark-lea :spark-ori mentioned you in #ops"]
    assert ori.lines() == []


def test_a_call_tells_nobody_of_a_secret_channel_and_reaches_nobody_who_wants_accounts_only():
    network = Network()
    ori, lea = network.client("spark-ori", "#ops", "#open"), network.client("spark-lea")
    ori.send("MODE #ops +s", "PRIVMSG #ops :@spark-lea look")
    assert lea.lines() == []
    lea.send("MODE spark-lea +R")
    lea.lines()
    ori.send("PRIVMSG #open :@spark-lea look")
    assert lea.lines() == []


def test_a_call_in_a_code_span_or_a_direct_message_is_none():
    network = Network()
    ori = network.client("spark-ori", "#ops")
    claude = network.client("spark-claude", caps="message-tags")
    ori.send("PRIVMSG #ops :run `@spark-claude`", "PRIVMSG spark-claude :@spark-claude hi")
    assert claude.lines() == ["@msgid=m3 :spark-ori!ori@spark PRIVMSG spark-claude :@spark-claude hi"]


def test_nobody_can_forge_the_flag():
    network = Network()
    ori = network.client("spark-ori", "#ops", caps="message-tags")
    bo = network.client("spark-bo", "#ops", caps="message-tags")
    bo.lines()
    ori.send("@agentirc.dev/mentions=spark-bo PRIVMSG #ops :nothing here")
    assert bo.lines() == ["@msgid=m3 :spark-ori!ori@spark PRIVMSG #ops :nothing here"]


def test_a_message_to_a_standing_reaches_those_who_have_it():
    network = Network()
    ori, bo = network.client("spark-ori", "#a"), network.client("spark-bo", "#a", caps="echo-message")
    lea, kim = network.client("spark-lea", "#a"), network.client("spark-kim", "#a")
    ori.send("MODE #a +vh spark-lea spark-kim")
    for client in (ori, bo, lea, kim):
        client.lines()
    bo.send("PRIVMSG @#a :one", "NOTICE +#A :two", "PRIVMSG @%#a :three")
    one, two = ":spark-bo!bo@spark PRIVMSG @#a :one", ":spark-bo!bo@spark NOTICE +#a :two"
    three = ":spark-bo!bo@spark PRIVMSG %#a :three"
    assert ori.lines() == bo.lines() == [one, two, three]
    assert kim.lines() == [two, three]
    assert lea.lines() == [two]
    bo.send("PRIVMSG @ :x", "PRIVMSG @spark-ori :x", "PRIVMSG @#nope :x")
    assert bo.numerics() == ["401", "401", "403"]


def test_a_message_to_a_standing_fits_in_a_line_with_its_sign():
    network = Network(nick_policy="open")
    ori = network.client("o" * 64, f"#{'a' * 63}", caps="echo-message")
    ori.send_bytes(f"PRIVMSG @#{'a' * 63} :".encode().ljust(510, b"x") + b"\r\n")
    (line,) = ori.lines()
    assert len(line) == 510


def test_a_channel_may_refuse_requests_to_programs():
    network = Network()
    ori, bo = network.client("spark-ori", "#a"), network.client("spark-bo", "#a")
    ori.send("MODE #a +C")
    ori.lines()
    bo.lines()
    bo.send("PRIVMSG #a :\x01VERSION\x01", "PRIVMSG #a :\x01ACTION waves\x01")
    assert bo.lines() == [":spark 404 spark-bo #a :Cannot send to channel (+C)"]
    assert ori.lines() == [":spark-bo!bo@spark PRIVMSG #a :\x01ACTION waves\x01"]


def test_a_channel_may_want_its_speakers_to_have_accounts():
    network = Network()
    ori, bo = network.client("spark-ori", "#a"), network.client("spark-bo", "#a")
    ori.send("MODE #a +M", "PRIVMSG #a :I am operator")
    bo.lines()
    bo.send("PRIVMSG #a :hm")
    assert bo.lines() == [":spark 404 spark-bo #a :Cannot send to channel (+M): log in to an account"]
    bo.session.user.account = "bo"
    bo.send("PRIVMSG #a :hm")
    assert bo.lines() == []


def test_a_user_may_want_messages_from_accounts_only():
    network = Network()
    ori, bo = network.client("spark-ori"), network.client("spark-bo")
    ori.send("MODE spark-ori +R", "PRIVMSG spark-ori :note to self")
    ori.lines()
    bo.send("PRIVMSG spark-ori :hm", "NOTICE spark-ori :hm")
    assert bo.lines() == [":spark 477 spark-bo spark-ori :Log in to an account to write to this user (+R)"]
    bo.session.user.account = "bo"
    bo.send("PRIVMSG spark-ori :hm")
    assert ori.lines() == [":spark-bo!bo@spark PRIVMSG spark-ori :hm"]


def test_a_message_from_outside_is_echoed_too():
    network = Network()
    ori, bo = network.client("spark-ori", "#a"), network.client("spark-bo", caps="echo-message")
    ori.send("MODE #a -n")
    ori.lines()
    bo.send("PRIVMSG #a :may I?")
    assert ori.lines() == bo.lines() == [":spark-bo!bo@spark PRIVMSG #a :may I?"]
