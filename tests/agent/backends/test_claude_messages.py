"""What the SDK says, in the words of the contract."""

import pytest
from claude_agent_sdk import (
    AssistantMessage,
    DeferredToolUse,
    ResultMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)

from culture.agent.backends.claude import messages
from culture.agent.backends.claude.control import Totals, totals_of
from culture.agent.contract import Assistant, Text, Thinking, ToolResult, ToolUse, Usage


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

    assert messages.assistant(said) == Assistant(
        "opus", (Thinking("hm"), Text("hello"), ToolUse("t1", "Bash", {"command": "irc"}))
    )


def test_tool_results_come_as_the_user():
    image = [{"type": "text", "text": "a plot"}, {"type": "image", "source": {}}]
    said = UserMessage(
        [
            ToolResultBlock("t1", "two\nlines", None),
            ToolResultBlock("t2", image, False),
            ToolResultBlock("t3", None, True),
        ],
        parent_tool_use_id="task",
    )

    assert messages.tool_results(said) == [
        ToolResult("t1", "two\nlines", parent="task"),
        ToolResult("t2", "a plot\n[image]", parent="task"),
        ToolResult("t3", "", failed=True, parent="task"),
    ]
    assert messages.tool_results(UserMessage("hello")) == []


def test_a_result_costs_what_was_added_to_the_total():
    told = messages.result(result(), Totals(cost_usd=0.375), None, asked=True)

    assert (told.cost_usd, told.duration_ms) == (0.125, 900)
    assert messages.result(result(), None, None, asked=True).cost_usd is None
    without = result(total_cost_usd=None)
    assert messages.result(without, Totals(cost_usd=0.375), None, asked=True).cost_usd is None


def test_what_came_from_the_cache_is_among_what_the_model_was_given():
    used = {
        "input_tokens": 7,
        "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": 300,
        "output_tokens": 4,
    }

    told = messages.result(result(usage=used), Totals(), None, asked=True)

    assert told.usage == Usage(327, 300, 4)
    assert messages.result(result(usage=None), Totals(), None, asked=True).usage is None


def test_the_context_is_as_full_as_the_last_reply_says():
    used = {
        "input_tokens": 40,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 50,
        "output_tokens": 10,
    }
    last = AssistantMessage([], "opus", usage=used)
    ended = result(model_usage={"haiku": {"contextWindow": 10}, "opus": {"contextWindow": 1000}})

    assert messages.result(ended, Totals(), last, asked=True).context == 0.1
    assert messages.result(ended, Totals(), None, asked=True).context is None
    assert messages.result(result(), Totals(), last, asked=True).context is None


@pytest.mark.parametrize(
    ("origin", "asked"), [(None, True), ({"kind": "human"}, True), ({"kind": "task-notification"}, False)]
)
def test_a_turn_that_the_backend_began_itself_was_not_asked_for(origin, asked):
    assert messages.is_asked(result(origin=origin)) is asked


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"api_error_status": 529, "result": "API Error: …"}, "the model is overloaded (status 529)"),
        ({"api_error_status": 418}, "an error of the API of the model (status 418)"),
        ({"subtype": "error_max_turns", "errors": ["too many\nturns"]}, "too many turns"),
        ({"subtype": "error_max_budget_usd"}, "the budget of the session is spent"),
        ({"subtype": "error_during_execution"}, "error_during_execution"),
        ({"subtype": "error_during_execution", "terminal_reason": "aborted_streaming"}, "interrupted"),
    ],
)
def test_a_failure_is_told_in_one_line(values, error):
    told = messages.result(result(is_error=True, **values), Totals(), None, asked=True)

    assert (told.failed, told.error) == (True, error)
    assert told.status == values.get("api_error_status")
    assert told.is_over_budget is (values.get("subtype") == "error_max_budget_usd")


def test_the_usage_of_a_turn_is_what_all_models_added_to_their_totals():
    before = {"opus": {"inputTokens": 10, "cacheReadInputTokens": 5, "outputTokens": 1}}
    after = {
        "opus": {"inputTokens": 30, "cacheReadInputTokens": 15, "outputTokens": 3, "contextWindow": 10},
        "haiku": {"inputTokens": 7, "cacheCreationInputTokens": 2, "outputTokens": 4, "contextWindow": 10},
    }

    told = messages.result(result(model_usage=after), totals_of(0.25, before), None, asked=True)

    assert told.usage == Usage(39, 10, 6)
    assert told.cost_usd == 0.25


def test_a_deferred_call_is_named_as_the_daemon_names_it():
    use = DeferredToolUse("t1", "mcp__culture__irc_send", {"text": "hi"})

    told = messages.result(result(deferred_tool_use=use), Totals(), None, asked=True)

    assert told.deferred == ToolUse("t1", "irc_send", {"text": "hi"})
    assert not told.failed
