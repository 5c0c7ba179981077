"""extensions/mentions.md: who is called by `@nick`, `nick:` and `nick,`, and who was probably meant."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culture.names import fold
from culture.protocol.mentions import (
    MOST,
    Unknown,
    find_mentions,
    find_unknown,
    is_mentioned,
    may_call,
)
from culture.protocol.misspelling import meant_by, similar

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
        # As clients complete a nick at the beginning of a line.
        "spark-ori: hello",
        "spark-ori, hello",
        "Spark-ORI:",
        "  spark-ori: hello",
        "spark-ori: spark-nobody: hello",
        "spark-ori: and `thor-claude: hello`",
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
        "spark-ori hello",
        "spark-ori:6667 is open",
        "spark-ori,thor-claude",
        "ask spark-ori: is it up?",
        "well, spark-ori: no",
        "hello\nspark-ori: hello",
        "`spark-ori: hello`",
        "<spark-ori>: hello",
        "#spark-ori: hello",
        "\x01ACTION spark-ori: waves\x01",
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


def test_several_are_addressed_at_once():
    assert mentions("spark-ori, thor-claude: look, @spark-claude") == [
        "spark-ori",
        "thor-claude",
        "spark-claude",
    ]
    assert mentions("spark-ori, thanks, thor-claude: no") == ["spark-ori"]


def test_a_name_that_is_also_a_word_is_called_by_its_sign_alone():
    assert find_mentions("ori, look", KNOWN.get, addresses=False) == []
    assert find_mentions("@ori, look", KNOWN.get, addresses=False) == ["ori"]


nicks = st.from_regex(r"[A-Za-z_\[\]{}|^][A-Za-z0-9_\-\[\]{}|^]{0,15}", fullmatch=True)
words = st.text(alphabet="ab@:,-`. \n#ori1", max_size=40)


@given(nick=nicks, rest=st.text(max_size=30), form=st.sampled_from(["@{} ", "{}: ", "{}, ", "{}:", "{},"]))
def test_each_form_calls_whoever_has_the_nick(nick: str, rest: str, form: str):
    rest = rest.replace("`", "") if form.endswith(" ") else ""
    assert is_mentioned(form.format(nick) + rest, nick)


@given(text=words)
def test_what_calls_somebody_is_written_like_a_call(text: str):
    called = find_mentions(text, lambda name: name)
    assert len(called) <= MOST
    assert may_call(text) or not called
    assert not find_unknown(text, lambda name: name)
    assert may_call(text) or not find_unknown(text, lambda name: None)


@given(nick=nicks, before=st.text(alphabet="abc.%+-1_", min_size=1, max_size=10))
def test_a_mail_address_calls_nobody(nick: str, before: str):
    assert find_mentions(f"{before}@{nick}", lambda name: name) == []
    assert find_unknown(f"write to {before}@{nick}.example.org", KNOWN.get) == []


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("@spark-cluade hello", [Unknown("spark-cluade", True)]),
        ("[@spark-cluade]", [Unknown("spark-cluade", True)]),
        ("spark-cluade: hello", [Unknown("spark-cluade", False)]),
        ("well, ask @spark-cluade", [Unknown("well", False), Unknown("spark-cluade", True)]),
        ("spark-claude: hello", []),
        ("ori@spark-cluade, `@spark-cluade` and spark-cluade", []),
        ("`spark-cluade: hello`", []),
    ],
)
def test_a_call_of_nobody_is_known_as_such(text: str, unknown: list[Unknown]):
    assert find_unknown(text, KNOWN.get) == unknown


AGENTS = ("spark-claude", "thor-codex", "pi-x", "bell")


@pytest.mark.parametrize(
    ("name", "has_sign", "meant"),
    [
        ("spark-cluade", True, "spark-claude"),
        ("spark-cluade", False, "spark-claude"),
        ("SPARK-CLAUD", False, "spark-claude"),
        ("sparkclaude", False, "spark-claude"),
        ("spork-cloude", True, "spark-claude"),
        ("spark-claudette", True, None),
        ("thor-claude", True, None),
        ("thor-codecs", True, "thor-codex"),
        ("pi-y", True, "pi-x"),
        ("pi-y", False, "pi-x"),
        ("pi-yz", True, None),
        # Ordinary words.
        ("well", False, None),
        ("home", True, None),
        ("all", True, None),
        ("however", False, None),
        ("x" * 400, True, None),
    ],
)
def test_who_was_meant_by_a_misspelled_nick(name: str, has_sign: bool, meant: str | None):
    unknown = Unknown(name, has_sign)
    assert meant_by(unknown, similar(unknown, AGENTS)) == meant


@given(st.data())
def test_one_or_two_wrong_letters_are_recognised(data: st.DataObject):
    typed = list("spark-claude")
    edits = data.draw(st.integers(1, 2))
    for _ in range(edits):
        at = data.draw(st.integers(0, len(typed) - 2))
        # A swap of letters that an earlier edit brought together is more than one.
        kinds = ["drop", "add", "change", *(["swap"] if edits == 1 else [])]
        match data.draw(st.sampled_from(kinds)):
            case "swap":
                typed[at], typed[at + 1] = typed[at + 1], typed[at]
            case "drop":
                del typed[at]
            case "add":
                typed.insert(at, data.draw(st.sampled_from("abz9")))
            case "change":
                typed[at] = data.draw(st.sampled_from("abz9"))
    unknown = Unknown("".join(typed), has_sign=True)
    meant = meant_by(unknown, similar(unknown, ["spark-claude"]))
    assert meant == (None if unknown.name == "spark-claude" else "spark-claude")
