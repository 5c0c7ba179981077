"""Long text: within 512 bytes as others see it (RFC 2812 section 2.3), and whole."""

from hypothesis import given
from hypothesis import strategies as st

from culture.client.splitting import one_line, room_for_text, split_fragments, split_text
from culture.protocol.multiline import Fragment, combine


def test_short_text_is_one_line():
    assert split_text("hello", 400) == ["hello"]


def test_newlines_make_lines_and_empty_ones_are_not_sent():
    assert split_text("one\r\n\r\n  two\rthree\n\n", 400) == ["one", "  two", "three"]


def test_it_cuts_between_words():
    assert split_text("aaaa bbbb cccc", 10) == ["aaaa bbbb", "cccc"]
    assert split_text("aaaa bbbb cccc", 9) == ["aaaa", "bbbb cccc"]


def test_a_word_longer_than_a_line_is_cut_inside():
    assert split_text("a" * 25, 10) == ["a" * 10, "a" * 10, "a" * 5]


def test_a_character_of_several_bytes_is_never_cut():
    assert split_text("ééééé", 5) == ["éé", "éé", "é"]


def test_what_belongs_to_a_character_stays_with_it():
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    accent = "e\u0301"

    assert split_text("ab" + family, len(family.encode())) == ["ab", family]
    assert split_text("xx" + accent, 3) == ["xx", accent]


def test_a_flag_is_two_letters_that_stay_together():
    flags = "\U0001f1e9\U0001f1ea" * 3

    assert split_text(flags, 21) == [flags[:4], flags[4:]]


def test_a_run_of_marks_longer_than_a_line_still_ends():
    assert "".join(split_text("e" + "\u0301" * 50, 20)) == "e" + "\u0301" * 50


def test_nothing_is_sent_of_nothing():
    assert split_text(" \n\r\n", 400) == []


def test_the_line_that_others_see_just_fits():
    source = "spark-claude!claude@" + "h" * 63
    room = room_for_text("spark-claude", source, "PRIVMSG", "#general")

    assert len(f":{source} PRIVMSG #general :{'x' * room}\r\n") <= 512
    assert room > 380


@given(st.text(), st.integers(min_value=4, max_value=60))
def test_every_line_fits_and_every_word_character_arrives_in_order(text, room):
    lines = split_text(text, room)

    assert all(len(line.encode()) <= room for line in lines)
    assert not any(set(line) & set("\r\n\0\1") for line in lines)
    assert "".join("".join(lines).split()) == "".join(_sayable(text).split())


def _sayable(text: str) -> str:
    return text.replace("\0", "").replace("\1", "")


def test_what_would_be_a_request_to_programs_is_text():
    """CTCP (modern.ircdocs.horse/ctcp): a message that begins with \\1."""
    assert split_text("\1VERSION\1", 400) == ["VERSION"]


def test_a_message_of_several_lines_keeps_its_blank_lines_inside():
    (message,) = split_fragments("\none\n\n  two  \n\n", 400, 4096, 100)

    assert message == [Fragment("one"), Fragment(""), Fragment("  two")]


def test_a_long_line_of_a_message_goes_on_behind_its_space():
    (message,) = split_fragments("aaaa bbbb\ncccc", 6, 4096, 100)

    assert message == [Fragment("aaaa "), Fragment("bbbb", is_joined=True), Fragment("cccc")]


def test_what_one_message_cannot_hold_goes_on_in_the_next():
    assert split_fragments("1\n2\n3", 400, 4096, 2) == [[Fragment("1"), Fragment("2")], [Fragment("3")]]
    assert split_fragments("one two", 400, 5, 0) == [[Fragment("one ")], [Fragment("two")]]


def test_blank_text_makes_no_message():
    assert split_fragments(" \n\n", 400, 4096, 100) == []


def test_a_topic_is_one_line():
    assert one_line("a\r\nQUIT :bye\n") == "a QUIT :bye"


@given(
    st.text(),
    st.integers(min_value=4, max_value=60),
    st.integers(min_value=5, max_value=90),
    st.integers(0, 5),
)
def test_every_message_keeps_to_the_limits_and_loses_nothing(text, room, most_bytes, most_lines):
    messages = split_fragments(text, room, most_bytes, most_lines)

    for message in messages:
        assert all(len(fragment.text.encode()) <= room for fragment in message)
        assert len(combine(message).encode()) <= most_bytes
        assert not most_lines or len(message) <= most_lines
        assert not message[0].is_joined
        assert any(fragment.text for fragment in message)
    whole = "".join(map(combine, messages))
    assert "".join(whole.split()) == "".join(_sayable(text).split())
