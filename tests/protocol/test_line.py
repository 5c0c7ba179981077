"""RFC 2812 section 2.3.1 and IRCv3 message-tags: the grammar of a line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culture.protocol.line import Line, MalformedLine, format_line, parse_line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("PING", Line("PING")),
        ("ping a", Line("PING", ("a",))),
        ("JOIN  #a   #b ", Line("JOIN", ("#a", "#b"))),
        ("PRIVMSG #a :hi there", Line("PRIVMSG", ("#a", "hi there"))),
        ("PRIVMSG #a ::-)", Line("PRIVMSG", ("#a", ":-)"))),
        ("PRIVMSG #a :one : two", Line("PRIVMSG", ("#a", "one : two"))),
        ("TOPIC #a :", Line("TOPIC", ("#a", ""))),
        (":ori!o@spark QUIT :bye", Line("QUIT", ("bye",), "ori!o@spark")),
        (":spark 001 ori :Welcome", Line("001", ("ori", "Welcome"), "spark")),
        ("@a=b;+c :s PING x", Line("PING", ("x",), "s", {"a": "b", "+c": ""})),
        (r"@a=\:\s\\\r\n\b\ PING", Line("PING", (), "", {"a": "; \\\r\nb"})),
        ("@a=1;a=2 PING", Line("PING", (), "", {"a": "2"})),
    ],
)
def test_lines_are_read(text: str, line: Line):
    assert parse_line(text) == line


@pytest.mark.parametrize("text", ["", " ", ":source", "@tag", "@a :b ", "PRIV\0MSG x", "A\rB"])
def test_malformed_lines_are_refused(text: str):
    with pytest.raises(MalformedLine):
        parse_line(text)


def test_the_last_parameter_gets_a_colon_only_where_it_needs_one():
    assert format_line("MODE", "#a", "+o", "ori") == "MODE #a +o ori"
    assert format_line("PART", "#a", "so long") == "PART #a :so long"
    assert format_line("TOPIC", "#a", "") == "TOPIC #a :"
    assert format_line("PRIVMSG", "#a", ":-)") == "PRIVMSG #a ::-)"
    assert format_line("PONG", "spark", "x", source="spark", trailing=True) == ":spark PONG spark :x"


words = st.text(st.characters(blacklist_characters="\r\n\0 ", blacklist_categories=["Cs"]), min_size=1)
middle = words.filter(lambda word: not word.startswith(":"))
trailing = st.text(st.characters(blacklist_characters="\r\n\0", blacklist_categories=["Cs"]))
values = st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]))


@given(st.lists(middle, max_size=5), trailing, st.dictionaries(st.from_regex(r"\A\+?[a-z./-]+\Z"), values))
def test_what_is_written_is_read_back(params: list[str], last: str, tags: dict[str, str]):
    line = format_line("PRIVMSG", *params, last, source="a!b@c", tags=tags)
    # str.split and friends must not take exotic white space for a separator.
    assert parse_line(line) == Line("PRIVMSG", (*params, last), "a!b@c", tags)
