"""What the SDK says, in the words of the contract."""

import pytest
from claude_agent_sdk import AssistantMessage, ResultMessage, TextBlock, ThinkingBlock, ToolUseBlock

from culture.agent.backends.claude import messages


def result(**values) -> ResultMessage:
    usual = {
        "subtype": "success", "duration_ms": 900, "duration_api_ms": 800, "is_error": False,
        "num_turns": 1, "session_id": "s", "total_cost_usd": 0.5, "usage": {"input_tokens": 7},
    }  # fmt: skip
    return ResultMessage(**{**usual, **values})


def test_content_is_blocks_by_type():
    said = AssistantMessage(
        [ThinkingBlock("hm", "sig"), TextBlock("hello"), ToolUseBlock("t1", "Bash", {"command": "irc"})],
        "opus",
    )

    assert messages.assistant(said) == {
        "type": "assistant",
        "model": "opus",
        "content": [
            {"type": "thinking", "thinking": "hm"},
            {"type": "text", "text": "hello"},
            {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "irc"}},
        ],
    }


def test_a_result_costs_what_was_added_to_the_total():
    told = messages.result(result(), cost_before_usd=0.375)

    assert (told["cost_usd"], told["duration_ms"], told["usage"]) == (0.125, 900, {"input_tokens": 7})
    assert messages.result(result(total_cost_usd=None), 0.375)["cost_usd"] is None


@pytest.mark.parametrize(
    ("origin", "asked"), [(None, True), ({"kind": "human"}, True), ({"kind": "task-notification"}, False)]
)
def test_a_turn_that_the_backend_began_itself_was_not_asked_for(origin, asked):
    assert messages.result(result(origin=origin), 0.0)["asked"] is asked


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"api_error_status": 529, "result": "API Error: …"}, "the model is overloaded (status 529)"),
        ({"api_error_status": 418}, "an error of the API of the model (status 418)"),
        ({"subtype": "error_max_turns", "errors": ["too many\nturns"]}, "too many turns"),
        ({"subtype": "error_during_execution"}, "error_during_execution"),
    ],
)
def test_a_failure_is_told_in_one_line(values, error):
    told = messages.result(result(is_error=True, **values), 0.0)

    assert (told["failed"], told["error"]) == (True, error)


@pytest.mark.parametrize(
    ("code", "words", "error"),
    [
        (-9, [], "the claude program was killed by signal 9"),
        (1, ["first", "no such model"], "the claude program ended with status 1: no such model"),
    ],
)
def test_a_crash_is_the_result_of_the_turn_it_cut_short(code, words, error):
    told = messages.crash(code, words)

    assert (told["failed"], told["asked"], told["error"]) == (True, True, error)
