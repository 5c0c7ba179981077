"""RFC 2812 section 2.3: lines end with CR LF and have at most 512 bytes; tags come on top of that."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culture.protocol.framing import OVERLONG, SERVER_TAG_BYTES, LineBuffer


def feed(*chunks: bytes, **options: int) -> list[bytes]:
    buffer = LineBuffer(**options)
    return [line for chunk in chunks for line in buffer.feed(chunk)]


def test_lines_end_with_crlf_or_lf_and_empty_ones_are_nothing():
    assert feed(b"PING a\r\nPING b\n\r\n\nPING c\r\n") == [b"PING a", b"PING b", b"PING c"]


def test_a_line_is_not_passed_on_before_it_ends():
    assert feed(b"PRIVMSG #a :hal") == []


def test_the_longest_line_has_510_bytes_and_its_end():
    assert feed(b"x" * 510 + b"\r\n") == [b"x" * 510]
    assert feed(b"x" * 511 + b"\n") == [b"x" * 511]
    assert feed(b"x" * 511 + b"\r\n") == [OVERLONG]
    assert feed(b"x" * 512 + b"\n") == [OVERLONG]


def test_an_overlong_line_is_dropped_whole_and_its_tail_is_no_command():
    assert feed(b"PRIVMSG #a :" + b"x" * 9000, b"\r", b"QUIT :tail\r\nPING a\r\n") == [
        b"PRIVMSG " + OVERLONG,
        b"PING a",
    ]


def test_tags_and_command_of_an_overlong_line_are_kept_if_they_fit():
    body = b"PRIVMSG #a :" + b"x" * 600
    assert feed(b"@label=1 " + body, b"xx\r\nPING a\r\n") == [b"@label=1 PRIVMSG " + OVERLONG, b"PING a"]
    assert feed(b"@label=1 " + body + b"\n") == [b"@label=1 PRIVMSG " + OVERLONG]
    assert feed(b"GET /" + b"x" * 600 + b" HTTP/1.1\r\n") == [b"GET " + OVERLONG]
    assert feed(b"X" * 33 + b" " + body + b"\n") == [OVERLONG]
    assert feed(b"@label=1;+t=" + b"t" * 5000 + b" PING a\n") == [OVERLONG]


def test_tags_do_not_count_against_the_line():
    tags = b"@+a=" + b"t" * 4000
    assert feed(tags + b" " + b"x" * 510 + b"\r\n") == [tags + b" " + b"x" * 510]


@pytest.mark.parametrize(("tag_bytes", "most"), [(4096, 4096), (SERVER_TAG_BYTES, 8191)])
def test_the_tag_section_has_a_bound_of_its_own(tag_bytes: int, most: int):
    fits = b"@" + b"t" * (most - 2) + b" PING a\r\n"
    too_long = b"@" + b"t" * (most - 1) + b" PING a\r\n"
    assert feed(fits, tag_bytes=tag_bytes) == [fits.rstrip()]
    assert feed(too_long, tag_bytes=tag_bytes) == [OVERLONG]


def test_endless_input_without_a_line_end_is_not_kept():
    buffer = LineBuffer()
    for _ in range(100):
        assert buffer.feed(b"y" * 65536) == []
    assert len(buffer._rest) == 0


@given(
    st.lists(
        st.builds(bytes.__add__, st.sampled_from([b"", b"@label=1 "]), st.binary(max_size=700)).filter(
            lambda line: b"\n" not in line
        ),
        max_size=8,
    ),
    st.lists(st.integers(min_value=1, max_value=300), min_size=1),
)
def test_where_the_network_cuts_makes_no_difference(raw: list[bytes], cuts: list[int]):
    stream = b"".join(line + b"\r\n" for line in raw)
    chunks, position, turn = [], 0, 0
    while position < len(stream):
        chunks.append(stream[position : position + cuts[turn % len(cuts)]])
        position += cuts[turn % len(cuts)]
        turn += 1
    assert feed(*chunks) == feed(stream)


def test_another_buffer_goes_on_from_what_is_half_there():
    data = b"PING a\r\nPING b\r\n" + b"x" * 600 + b"\r\n@label=1 A " + b"x" * 600 + b"\r\nPING c\r\n"
    for cut in range(len(data) + 1):
        first, second = LineBuffer(), LineBuffer()
        lines = first.feed(data[:cut])
        assert second.feed(first.half) == []
        lines += second.feed(data[cut:])
        assert lines == [b"PING a", b"PING b", OVERLONG, b"@label=1 A " + OVERLONG, b"PING c"]


def test_a_link_may_have_longer_lines():
    buffer = LineBuffer()
    buffer.widen(2000)
    assert buffer.feed(b"x" * 1500 + b"\r\n" + b"x" * 2500 + b"\r\nPING\r\n") == [
        b"x" * 1500,
        OVERLONG,
        b"PING",
    ]
