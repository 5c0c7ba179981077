"""Only what looks like a loop is worth an early evaluation, and polling does not look like one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.activity import call, steps_of, text

from culture.agent.contract import Message, WatchedTask
from culture.agent.supervision.heuristics import MONOLOGUE_LENGTH, sign_of_a_loop

OTHER = WatchedTask("t2", "say hello", "spark-ori in #general")


def same(count: int) -> list[Message]:
    return [message for _ in range(count) for message in call("ls", "a b")]


def errors(count: int) -> list[Message]:
    rounds = (call(f"make -j{n}", f"main.c:{n}: error 0x{n:x}", failed=True) for n in range(count))
    return [message for each in rounds for message in each]


def alternating(count: int) -> list[Message]:
    return [message for n in range(count) for message in call("ab"[n % 2], "x")]


@pytest.mark.parametrize(
    ("messages", "sign"),
    [
        ([], ""),
        (same(3), ""),
        (same(4), "the same call returned the same result four times"),
        (same(9), "the same call returned the same result four times"),
        (errors(2), ""),
        (errors(3), "the same error came three times"),
        (errors(2) + call("vi main.c", "ok") + errors(1), "the same error came three times"),
        # What failed before is not a problem once something else works.
        (errors(3) + call("vi main.c", "ok"), ""),
        (alternating(5), ""),
        (alternating(6), "two calls alternated six times"),
        (alternating(5) + call("b", "y"), ""),
        (text("a") + text("b"), ""),
        (text("a") + text("b") + text("c"), "a long text without a tool call"),
        (text("a") + call("ls", "x") + text("b") + text("c"), ""),
        (text("x" * MONOLOGUE_LENGTH), "a long text without a tool call"),
    ],
)
def test_signs(messages: list[Message], sign: str):
    assert sign_of_a_loop(steps_of(messages)) == sign


def test_calls_of_a_sub_agent_are_not_mixed_with_those_of_the_agent():
    mixed = [
        message
        for _ in range(2)
        for message in (*call("ls", "a", parent="9"), *call("ls", "a"), *call("pwd", "b"))
    ]

    assert sign_of_a_loop(steps_of(mixed)) == ""


def test_short_answers_in_several_turns_are_no_monologue():
    steps = [step for _ in range(3) for step in steps_of(text("hello"))]
    others = steps_of(text("hello"), task=OTHER)

    assert sign_of_a_loop([*steps[:2], *others]) == ""


@given(st.lists(st.sampled_from(["a", "b", "c"]), max_size=20))
def test_calls_with_changing_results_are_never_a_sign(commands: list[str]):
    messages = [m for number, command in enumerate(commands) for m in call(command, f"{number} % done")]

    assert sign_of_a_loop(steps_of(messages)) == ""


@given(
    st.lists(st.sampled_from(["a", "b", "c"]), max_size=10), st.sampled_from(["a", "b"]), st.integers(4, 9)
)
def test_whatever_came_before_four_equal_calls_are_seen(before: list[str], command: str, count: int):
    messages = [m for each in before for m in call(each, "x")] + [
        m for _ in range(count) for m in call(command, "x")
    ]

    assert sign_of_a_loop(steps_of(messages)) != ""
