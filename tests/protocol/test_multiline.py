"""IRCv3 draft/multiline: the message that lines make."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culture.protocol.multiline import Fragment, combine, composition, decompose


@pytest.mark.parametrize(
    ("fragments", "text"),
    [
        ([Fragment("one")], "one"),
        ([Fragment("one"), Fragment("two")], "one\ntwo"),
        ([Fragment("one "), Fragment("two", is_joined=True), Fragment("three")], "one two\nthree"),
        ([Fragment(""), Fragment("two"), Fragment("")], "\ntwo\n"),
        ([Fragment("one", is_joined=True)], "one"),
    ],
)
def test_lines_are_joined_by_a_line_feed_or_by_nothing(fragments: list[Fragment], text: str):
    assert combine(fragments) == text


LINES = st.text(st.characters(exclude_characters="\n\r\0"), max_size=5)


@given(st.lists(st.builds(Fragment, LINES, st.booleans()), min_size=1))
def test_a_composition_tells_the_lines_of_a_message(fragments: list[Fragment]):
    # Nothing comes before the first one.
    fragments[0] = Fragment(fragments[0].text)
    text, lengths = combine(fragments), composition(fragments)
    sent = decompose(text, lengths) if lengths else tuple(map(Fragment, text.split("\n")))
    assert sent == tuple(fragments)


@pytest.mark.parametrize(
    "lengths", ["", "3", "5", "+3,1", "3,+1", "3,x", "3,-1", "3,\N{SUPERSCRIPT ONE}", "1,1,1"]
)
def test_a_composition_of_something_else_is_none(lengths: str):
    assert decompose("one\n2\n", lengths) == ()


@given(st.text(), st.text(st.sampled_from("0123456789+-,x")))
def test_any_composition_is_safe(text: str, lengths: str):
    fragments = decompose(text, lengths)
    assert not fragments or combine(fragments) == text
