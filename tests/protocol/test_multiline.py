"""IRCv3 draft/multiline: the message that lines make."""

import pytest

from culture.protocol.multiline import Fragment, combine


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
