"""A step is one reply of the model with the results of its calls; the window keeps the last ones."""

from hypothesis import given
from hypothesis import strategies as st
from support.activity import TASK, add, call, steps_of, text

from culture.agent.contract import Assistant, Message, Text, Thinking, ToolResult, ToolUse
from culture.agent.supervision.window import HEAD, TAIL, Excerpt, Window, shortened


def test_a_reply_that_comes_in_several_messages_is_one_step():
    messages: list[Message] = [
        Assistant("m", (Thinking("hm"),)),
        Assistant("m", (Text("I look."),)),
        Assistant("m", (ToolUse("1", "Bash", {"command": "ls"}),)),
        Assistant("m", (ToolUse("2", "Read", {"path": "a"}),)),
        ToolResult("1", "a"),
        ToolResult("2", "text"),
    ]

    (step,) = steps_of(messages)

    assert step.text.text == "I look."
    assert [(each.name, each.result and each.result.text) for each in step.calls] == [
        ("Bash", "a"),
        ("Read", "text"),
    ]


def test_a_step_is_complete_when_its_calls_have_returned():
    window = Window(20)
    said, returned = call("ls", "a")

    assert add(window, [said]) == 0
    assert add(window, [returned]) == 1
    assert add(window, text("one")) == 0
    # The next text begins the next step.
    assert add(window, text("two")) == 1
    assert window.turn_ended(0.0) == 1
    assert window.turn_ended(0.0) == 0


def test_a_call_that_never_returned_is_part_of_its_step():
    said, _ = call("sleep 100", "")

    (step,) = steps_of([said])

    assert step.calls[0].result is None


def test_thinking_alone_is_no_step():
    assert steps_of([Assistant("m", (Thinking("hm"),))]) == []


def test_sub_agents_have_steps_of_their_own():
    own, own_result = call("make", "ok")
    other, other_result = call("ls", "a", parent="9")

    steps = steps_of([own, other, other_result, own_result])

    assert [(step.parent, step.calls[0].result) for step in steps] == [
        ("9", Excerpt.of("a")),
        ("", Excerpt.of("ok")),
    ]


def test_the_window_keeps_the_last_steps_with_their_task():
    steps = steps_of([message for number in range(30) for message in call(f"run {number}", "ok")], size=20)

    assert len(steps) == 20
    assert steps[-1].calls[0].arguments.text == '{"command":"run 29"}'
    assert {step.task for step in steps} == {TASK}


def test_a_result_of_an_unknown_call_is_ignored():
    assert steps_of([ToolResult("7", "late")]) == []


def test_a_step_knows_how_long_it_took():
    window = Window(20)
    said, returned = call("make", "ok")
    assert isinstance(said, Assistant)
    assert isinstance(returned, ToolResult)

    window.said(said, TASK, 100.0)
    window.returned(returned, 145.0)

    assert window.steps[0].duration_s == 45.0


def test_a_long_text_keeps_its_head_and_its_tail():
    result = "begin " + "x" * 10_000_000 + " the last line says why"

    short = shortened(result)

    assert short.startswith("begin xxx")
    assert short.endswith("the last line says why")
    assert len(short) <= HEAD + TAIL + 5


@given(st.text(max_size=4000))
def test_an_excerpt_is_one_short_line(value: str):
    excerpt = Excerpt.of(value)

    assert len(excerpt.text) <= HEAD + TAIL + 5
    assert len(excerpt.text.splitlines()) <= 1
    assert excerpt == Excerpt.of(value)


_ANY_MESSAGE = st.one_of(
    st.builds(lambda words: Assistant("m", (Text(words),)), st.text(max_size=5)),
    st.builds(lambda key: Assistant("m", (ToolUse(key, "Bash", {}),)), st.sampled_from("abc")),
    st.builds(lambda key, failed: ToolResult(key, "r", failed), st.sampled_from("abc"), st.booleans()),
)


@given(st.lists(_ANY_MESSAGE, max_size=60), st.integers(1, 10))
def test_any_order_of_messages_gives_as_many_steps_as_were_counted(messages: list[Message], size: int):
    window = Window(size)
    completed = add(window, messages) + window.turn_ended(0.0)

    assert len(window.steps) == min(completed, size)
    assert all(step.calls or step.text.length for step in window.steps)
