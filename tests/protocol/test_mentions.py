"""extensions/mentions.md: who is called by `@nick`."""

import pytest

from culture.names import fold
from culture.protocol.mentions import MOST, find_mentions, is_mentioned

KNOWN = {
    fold(nick): nick for nick in ("spark-ori", "spark-claude", "thor-claude", "spark-{x}", "ori", "spark-")
}


def mentions(text: str) -> list[str]:
    return find_mentions(text, KNOWN.get)


@pytest.mark.parametrize(
    "text",
    [
        "@spark-ori",
        "@spark-ori: hello",
        "hello @spark-ori, are you there?",
        "(@spark-ori)",
        "[@spark-ori]",
        "thanks @spark-ori.",
        "@SPARK-Ori!",
        "is this @spark-ori's?",
        "/cc @spark-ori--",
        "see `@thor-claude` and ask @spark-ori",
        "`` @thor-claude ` @thor-claude `` @spark-ori",
        "an odd ` backtick, @spark-ori",
        "\x01ACTION waves at @spark-ori\x01",
        "…@spark-ori",
    ],
)
def test_a_call_is_recognised(text: str):
    assert mentions(text) == ["spark-ori"]


@pytest.mark.parametrize(
    "text",
    [
        "spark-ori without the sign",
        "mail ori@spark-ori please",
        "first.last@spark-ori",
        "@spark-ori@example.org",
        "`@spark-ori`",
        "``@spark-ori``",
        "run `ssh @spark-ori` now",
        "@nobody @spark-nobody",
        "@ spark-ori",
        "@@spark-ori",
        "@",
        "@-",
    ],
)
def test_what_only_looks_like_a_call_is_not(text: str):
    assert mentions(text) == []


def test_each_is_called_once_in_order_and_as_they_spell_themselves():
    assert mentions("@THOR-claude and @spark-claude and @thor-Claude") == ["thor-claude", "spark-claude"]


def test_a_nick_that_ends_in_a_bracket_wins_over_the_shorter_one():
    assert mentions("@spark-{x}") == ["spark-{x}"]
    assert mentions("@spark-[X]") == ["spark-{x}"]


def test_one_line_calls_a_bounded_number():
    everybody = {fold(f"n{i}"): f"n{i}" for i in range(100)}
    text = " ".join(f"@n{i}" for i in range(100))
    assert find_mentions(text, everybody.get) == [f"n{i}" for i in range(MOST)]


def test_a_reader_can_tell_by_itself():
    assert is_mentioned("hey @Spark-Claude!", "spark-claude")
    assert not is_mentioned("hey spark-claude", "spark-claude")
