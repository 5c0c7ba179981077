"""Long text: within 512 bytes as others see it (RFC 2812 section 2.3), and whole."""

from hypothesis import given
from hypothesis import strategies as st

from culture.client.splitting import room_for_text, split_text


def test_short_text_is_one_line():
    assert split_text("hello", 400) == ["hello"]


def test_newlines_make_lines_and_empty_ones_are_not_sent():
    assert split_text("one\r\n\r\n  two\rthree\n\n", 400) == ["one", "  two", "three"]


def test_it_cuts_between_words():
    assert split_text("aaaa bbbb cccc", 10) == ["aaaa bbbb", "cccc"]
    assert split_text("aaaa bbbb cccc", 9) == ["aaaa bbbb", "cccc"]


def test_a_word_longer_than_a_line_is_cut_inside():
    assert split_text("a" * 25, 10) == ["a" * 10, "a" * 10, "a" * 5]


def test_a_character_of_several_bytes_is_never_cut():
    assert split_text("ééééé", 5) == ["éé", "éé", "é"]


def test_what_belongs_to_a_character_stays_with_it():
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    accent = "e\u0301"

    assert split_text("ab" + family, len(family.encode())) == ["ab", family]
    assert split_text("xx" + accent, 3) == ["xx", accent]


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
    assert not any(set(line) & set("\r\n\0") for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.replace("\0", "").split())
