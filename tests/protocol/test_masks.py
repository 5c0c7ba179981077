"""RFC 2812 section 2.5: wildcards."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culture.names import fold
from culture.protocol.masks import is_match, matcher


@pytest.mark.parametrize(
    ("mask", "text", "matches"),
    [
        ("*", "", True),
        ("", "", True),
        ("", "a", False),
        ("spark-*", "SPARK-ori", True),
        ("*-ori", "spark-ori", True),
        ("s*k-?ri", "spark-ori", True),
        ("s*k-?ri", "spark-oori", False),
        ("[x]", "{X}", True),
        ("a.c", "abc", False),
    ],
)
def test_masks(mask: str, text: str, matches: bool):
    assert is_match(mask, text) is matcher(mask)(text) is matches


@given(st.text("aB[}|~é*?", max_size=8), st.text("Ab{]\\^éÉ", max_size=8))
def test_a_mask_means_what_the_pattern_means(mask: str, text: str):
    wild = {"*": ".*", "?": "."}
    pattern = "".join(wild.get(char, re.escape(char)) for char in fold(mask))
    matches = re.fullmatch(pattern, fold(text)) is not None
    assert is_match(mask, text) is matcher(mask)(text) is matches


@pytest.mark.timeout(5)
def test_no_mask_takes_long():
    text = "a" * 400
    for mask in ("*a" * 200 + "b", "?*" * 200 + "b", "*" + "a" * 200 + "b*" + "a" * 200):
        assert is_match(mask, text) is matcher(mask)(text) is False
