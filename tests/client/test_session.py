"""A transcript with a server: lines in, events and answers out."""

import pytest

from culture.client.events import Answered, Joined, Left, Refused, Registered, Renamed, Said
from culture.client.registration import Identity
from culture.client.session import Kind, Session
from culture.errors import TemporaryError
from culture.protocol.line import parse_line


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
    lines = in_general.say("#general", "word " * 200)

    sent = in_general.take_output()
    assert len(sent) == len(lines) > 1
    assert all(len(f":spark-claude!claude@localhost {line}\r\n") <= 512 for line in sent)


def test_a_notice_is_said_as_one(in_general):
    in_general.say("#general", "turn failed", Kind.NOTICE)

    assert in_general.take_output() == ["NOTICE #general :turn failed"]


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
