"""A transcript with a server: lines in, events and answers out."""

import pytest

from culture.client.events import (
    Answered,
    Echoed,
    Failed,
    Joined,
    Left,
    Refused,
    Registered,
    Renamed,
    Replayed,
    Said,
    Told,
)
from culture.client.registration import Identity
from culture.client.session import Kind, Session
from culture.errors import TemporaryError
from culture.protocol.line import parse_line


def say(session: Session, target: str, text: str, *args, **more) -> list[str]:
    """What goes to the wire for it."""
    return [line for burst in session.compose(target, text, *args, **more).bursts for line in burst]


def heard(session: Session, *lines: str) -> list:
    return [event for line in lines for event in session.received(parse_line(line))]


@pytest.fixture
def session() -> Session:
    session = Session(Identity("spark-claude", "claude", "an agent"), ["#general"])
    heard(session, ":spark CAP * LS :", ":spark 001 spark-claude :Welcome")
    session.take_output()
    return session


@pytest.fixture
def in_general(session) -> Session:
    heard(
        session,
        ":spark-claude!claude@localhost JOIN #general",
        ":spark 353 spark-claude = #general :spark-claude @spark-ori +spark-bo",
    )
    return session


def test_once_welcomed_it_joins_every_channel():
    session = Session(Identity("spark-claude", "claude", "an agent"), ["#general", "#ops"])
    session.take_output()

    assert heard(session, ":spark 001 spark-claude :Welcome") == [Registered("spark-claude", "spark")]
    assert session.take_output() == ["JOIN #general", "JOIN #ops"]


def test_a_ping_is_answered(session):
    heard(session, "PING :are you there")

    assert session.take_output() == ["PONG :are you there"]


def test_it_knows_who_is_in_a_channel(in_general):
    assert in_general.roster.members("#General") == ["spark-claude", "spark-ori", "spark-bo"]


def test_members_come_and_go(in_general):
    events = heard(
        in_general,
        ":thor-al!a@h JOIN #general",
        ":spark-ori!o@h NICK spark-oriana",
        ":spark-bo!b@h PART #general :bye",
        ":thor-al!a@h QUIT :gone",
    )

    assert events == [
        Joined("thor-al", "#general"),
        Renamed("spark-ori", "spark-oriana"),
        Left("spark-bo", "#general", "bye"),
        Left("thor-al", "#general", "gone"),
    ]
    assert in_general.roster.members("#general") == ["spark-claude", "spark-oriana"]


def test_being_kicked_means_being_out(in_general):
    assert heard(in_general, ":spark-ori!o@h KICK #general spark-claude :enough") == [
        Left("spark-claude", "#general", "enough")
    ]
    assert "#general" not in in_general.roster


def test_a_line_said_in_a_channel(in_general):
    tags = "time=2026-01-01T00:00:00.000Z;agentirc.dev/mentions=spark-claude,spark-bo"
    (said,) = heard(in_general, f"@{tags} :spark-ori!o@h PRIVMSG #general :@spark-claude hi")

    assert isinstance(said, Said)
    assert (said.sender, said.channel, said.text) == ("spark-ori", "#general", "@spark-claude hi")
    assert said.mentions == ("spark-claude", "spark-bo")
    assert said.time == "2026-01-01T00:00:00.000Z"
    assert not said.is_notice
    assert not said.is_from_server


def test_a_direct_message_has_no_channel(session):
    (said,) = heard(session, ":spark-ori!o@h PRIVMSG spark-claude :psst")

    assert (said.channel, said.mentions, said.time) == (None, None, None)


def test_a_line_for_the_operators_of_a_channel_is_said_in_it(session):
    heard(session, ":spark 005 spark-claude CHANTYPES=#& PREFIX=(ov)@+ STATUSMSG=@+ :are supported")
    (said,) = heard(session, ":spark-ori!o@h PRIVMSG @#ops :for operators")

    assert said.channel == "#ops"


def test_a_notice_of_the_server_is_marked_as_such(session):
    (said,) = heard(session, ":spark NOTICE spark-claude :spark-ori called you in #ops")

    assert said.is_notice
    assert said.is_from_server


def test_talk_before_the_welcome_is_not_for_us():
    session = Session(Identity("spark-claude", "claude", "an agent"), [])

    assert heard(session, ":spark NOTICE * :*** Looking up your hostname") == []


def test_long_text_leaves_room_for_our_source(in_general):
    sent = say(in_general, "#general", "word " * 200)

    assert len(sent) > 1
    assert all(len(f":spark-claude!claude@localhost {line}\r\n") <= 512 for line in sent)


def test_a_notice_is_said_as_one(in_general):
    assert say(in_general, "#general", "turn failed", Kind.NOTICE) == ["NOTICE #general :turn failed"]


def test_objections_and_answers_are_events(session):
    assert heard(session, ":spark 401 spark-claude nobody :No such nick", ":spark PONG spark :said-1") == [
        Refused("401", "nobody", "No such nick"),
        Answered("said-1"),
    ]


def test_an_error_of_the_server_ends_the_session(session):
    with pytest.raises(TemporaryError, match="shutting down"):
        heard(session, "ERROR :shutting down")


def test_the_server_has_the_last_word_on_our_nick(session):
    heard(session, ":spark-claude!c@h NICK spark-claude2")

    assert session.nick == "spark-claude2"
    assert session.is_own("SPARK-claude2")


def capable(*offered: str) -> Session:
    """A session on a server that offers this, and gives it."""
    session = Session(Identity("spark-claude", "claude", "an agent"), [])
    names = " ".join(word.partition("=")[0] for word in offered)
    heard(session, f":s CAP * LS :{' '.join(offered)}", f":s CAP * ACK :{names}", ":s 001 spark-claude :Hi")
    session.take_output()
    return session


def test_a_text_of_several_lines_is_one_message_where_the_server_takes_such():
    session = capable("batch", "message-tags", "draft/multiline=max-bytes=4096,max-lines=3")

    one = say(session, "#ops", "the disk\n\nis full", tags={"+draft/reply": "m7"})
    two = say(session, "#ops", "1\n2\n3\n4")

    assert [*one, *two] == [
        "@+draft/reply=m7 BATCH +m1 draft/multiline #ops",
        "@batch=m1 PRIVMSG #ops :the disk",
        "@batch=m1 PRIVMSG #ops :",
        "@batch=m1 PRIVMSG #ops :is full",
        "BATCH -m1",
        "BATCH +m2 draft/multiline #ops",
        "@batch=m2 PRIVMSG #ops :1",
        "@batch=m2 PRIVMSG #ops :2",
        "@batch=m2 PRIVMSG #ops :3",
        "BATCH -m2",
        "BATCH +m3 draft/multiline #ops",
        "@batch=m3 PRIVMSG #ops :4",
        "BATCH -m3",
    ]


def test_a_long_line_is_joined_again_by_who_reads_it_as_one():
    session = capable("batch", "message-tags", "draft/multiline=max-bytes=4096")

    sent = say(session, "#ops", "word " * 150)

    first, second = (line for line in sent if "PRIVMSG" in line)
    assert first.startswith("@batch=m1 PRIVMSG #ops :word")
    assert first.endswith("word ")
    assert second.startswith("@batch=m1;draft/multiline-concat PRIVMSG #ops :word")


def test_one_line_needs_no_batch_and_tags_need_a_server_that_passes_them_on(session):
    multiline = capable("batch", "message-tags", "draft/multiline=max-bytes=4096")

    assert say(multiline, "#ops", "hello") == ["PRIVMSG #ops :hello"]
    assert say(session, "#ops", "hello", tags={"+draft/reply": "m7"}) == ["PRIVMSG #ops :hello"]


def test_many_lines_go_out_in_bursts_that_any_server_takes(session):
    composed = session.compose("#ops", "\n".join("abcdefgh"))

    assert [len(burst) for burst in composed.bursts] == [5, 3]
    assert composed.lines == list("abcdefgh")


def test_what_we_said_comes_back_with_its_id():
    session = capable("echo-message", "message-tags")

    assert heard(session, "@msgid=m1;time=now :spark-claude!c@h PRIVMSG #ops :hello") == [
        Echoed("#ops", "hello", "m1", False, "now")
    ]


def test_history_is_told_as_a_whole(session):
    (replayed,) = heard(
        session,
        ":s BATCH +h chathistory #ops",
        "@batch=h;msgid=m1 :spark-ori!o@h PRIVMSG #ops :hello",
        "@batch=h;msgid=m2 :spark-claude!c@h PRIVMSG #ops :hi",
        ":s BATCH -h",
    )

    assert isinstance(replayed, Replayed)
    assert replayed.target == "#ops"
    assert [(said.sender, said.msgid) for said in replayed.said] == [
        ("spark-ori", "m1"),
        ("spark-claude", "m2"),
    ]


def test_refusals_by_a_word_and_answers_are_events(session):
    failed, told = heard(
        session,
        ":s FAIL BATCH MULTILINE_MAX_BYTES 4096 :Too much",
        ":s 332 spark-claude #ops :the topic",
    )

    assert failed == Failed("BATCH", "MULTILINE_MAX_BYTES", "Too much")
    assert isinstance(told, Told)
    assert told.line.param(2) == "the topic"


def test_an_agent_marks_itself_as_a_bot_where_the_server_knows_of_such():
    """IRCv3 bot-mode: the token tells the letter."""
    session = Session(Identity("spark-claude", "claude", "an agent", is_bot=True), [])
    heard(session, ":spark 001 spark-claude :Welcome")
    session.take_output()

    heard(session, ":spark 005 spark-claude BOT=b NETWORK=spark :are supported")

    assert session.take_output() == ["MODE spark-claude +b"]


def test_a_person_does_not(session):
    heard(session, ":spark 005 spark-claude BOT=b :are supported")

    assert session.take_output() == []


@pytest.mark.parametrize(
    ("lines", "operators"),
    [
        ([], ["spark-ori"]),
        ([":spark MODE #general -o spark-ori"], []),
        ([":spark MODE #general +vo spark-bo spark-bo"], ["spark-bo", "spark-ori"]),
        ([":spark MODE #general +lbo 5 *!*@x spark-bo"], ["spark-bo", "spark-ori"]),
        ([":spark MODE #general -lb+o *!*@x spark-bo"], ["spark-bo", "spark-ori"]),
        ([":spark MODE #general +nt", ":spark MODE spark-claude +B"], ["spark-ori"]),
        ([":spark-ori!o@h NICK spark-oriana"], ["spark-oriana"]),
        ([":spark-ori!o@h PART #general"], []),
        ([":spark-ori!o@h PART #general", ":spark-ori!o@h JOIN #general"], []),
    ],
)
def test_it_knows_who_is_an_operator(in_general, lines, operators):
    heard(in_general, *lines)

    everyone = ("spark-bo", "spark-claude", "spark-ori", "spark-oriana")
    assert [nick for nick in everyone if in_general.roster.is_operator("#general", nick)] == operators


def test_the_server_says_which_letters_make_an_operator(session):
    heard(
        session,
        ":spark 005 spark-claude PREFIX=(yov)!@+ CHANMODES=b,k,lj,imnst :are supported",
        ":spark-claude!claude@localhost JOIN #general",
        ":spark 353 spark-claude = #general :+spark-claude !spark-ori +spark-bo",
        ":spark MODE #general +jo 3:4 spark-bo",
    )

    assert session.roster.members("#general") == ["spark-claude", "spark-ori", "spark-bo"]
    assert session.roster.is_operator("#general", "spark-ori")
    assert session.roster.is_operator("#general", "spark-bo")
    assert not session.roster.is_operator("#general", "spark-claude")
