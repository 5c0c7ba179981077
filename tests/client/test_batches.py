"""Lines that belong together (IRCv3 batch): one event when the last of them is there."""

from culture.client.batches import Batch, Batches
from culture.protocol.line import Line, parse_line


def out_of(*lines: str) -> list[Line | Batch]:
    batches = Batches()
    return [whole for line in lines if (whole := batches.received(parse_line(line))) is not None]


def test_a_line_alone_is_dealt_with_at_once():
    (line,) = out_of(":ori!o@h PRIVMSG #ops :hi")

    assert line == parse_line(":ori!o@h PRIVMSG #ops :hi")


def test_a_message_of_several_lines_is_one_line_with_the_tags_of_its_beginning():
    (line,) = out_of(
        "@msgid=1;time=now :ori!o@h BATCH +x draft/multiline #ops",
        "@batch=x :ori!o@h PRIVMSG #ops :the disk",
        "@batch=x :ori!o@h PRIVMSG #ops :",
        "@batch=x :ori!o@h PRIVMSG #ops :is ",
        "@batch=x;draft/multiline-concat :ori!o@h PRIVMSG #ops :full",
        ":ori!o@h BATCH -x",
    )

    assert (line.command, line.params, line.nick) == ("PRIVMSG", ("#ops", "the disk\n\nis full"), "ori")
    assert line.tags == {"msgid": "1", "time": "now"}


def test_what_comes_in_between_is_not_held_up():
    between, message = out_of(
        ":ori!o@h BATCH +x draft/multiline #ops",
        "@batch=x :ori!o@h PRIVMSG #ops :one",
        ":bo!b@h PRIVMSG #ops :me first",
        ":ori!o@h BATCH -x",
    )

    assert (between.param(1), message.param(1)) == ("me first", "one")


def test_history_has_messages_of_several_lines_inside():
    (history,) = out_of(
        ":spark BATCH +h chathistory #ops",
        "@batch=h;msgid=1 :ori!o@h PRIVMSG #ops :one",
        "@batch=h;msgid=2 :ori!o@h BATCH +x draft/multiline #ops",
        "@batch=x :ori!o@h PRIVMSG #ops :two",
        "@batch=x :ori!o@h PRIVMSG #ops :three",
        ":spark BATCH -x",
        ":spark BATCH -h",
    )

    assert history.target == "#ops"
    assert [(line.tags["msgid"], line.param(1)) for line in history.lines] == [
        ("1", "one"),
        ("2", "two\nthree"),
    ]


def test_lines_of_other_batches_mean_what_they_mean_alone():
    (line,) = out_of(
        ":spark BATCH +s netsplit spark thor", "@batch=s :bo!b@h QUIT :spark thor", ":spark BATCH -s"
    )

    assert line.command == "QUIT"


def test_batches_that_never_end_do_not_pile_up():
    batches = Batches()
    for number in range(1000):
        assert batches.received(parse_line(f":s BATCH +{number} chathistory #ops")) is None

    assert batches.received(parse_line("@batch=999 :o!o@h PRIVMSG #ops :said")) is not None


def test_an_end_without_a_beginning_and_an_empty_message_are_nothing():
    assert out_of(":s BATCH -x", ":s BATCH +y draft/multiline #ops", ":s BATCH -y", ":s BATCH") == []
