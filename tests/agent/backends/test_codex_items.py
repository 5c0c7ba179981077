"""What the app-server reports, in the words of the contract."""

import pytest

from culture.agent.backends.codex import items
from culture.agent.backends.codex.rate_limits import rate_limits
from culture.agent.contract import RateLimit, Text, Thinking, ToolResult, ToolUse, Usage


@pytest.mark.parametrize(
    ("command", "plain"),
    [
        ("/bin/bash -lc ls", "ls"),
        ("/bin/bash -c 'irc send x y'", "irc send x y"),
        ("""sh -c "irc send '#g' 'it'\\\\''s'\"""", "irc send '#g' 'it'\\''s'"),
        # Whatever is not the plain call of a plain shell is judged as a whole.
        ("fish -c 'irc send x y'", "fish -c 'irc send x y'"),
        ("bash -c 'irc send x' y", "bash -c 'irc send x' y"),
        ("bash -xc 'irc send x'", "bash -xc 'irc send x'"),
        ("env bash -c 'irc send x'", "env bash -c 'irc send x'"),
        ("bash -c 'irc send", "bash -c 'irc send"),
        ("", ""),
    ],
)
def test_a_command_is_what_the_shell_is_given(command, plain):
    assert items.plain_command(command) == plain


def test_what_is_about_to_run_is_a_tool_use():
    shell = {"type": "commandExecution", "id": "c1", "command": "/bin/bash -c ls"}
    patch = {"type": "fileChange", "id": "c2", "changes": [{"path": "a"}]}
    search = {"type": "webSearch", "id": "c3", "query": "herons"}
    mcp = {"type": "mcpToolCall", "id": "c4", "server": "s", "tool": "t", "arguments": {"a": 1}}
    own = {"type": "dynamicToolCall", "id": "c5", "tool": "irc_send", "arguments": {"a": 1}}

    assert [items.begun(item) for item in (shell, patch, search, mcp, own)] == [
        ToolUse("c1", "shell", {"command": "ls"}),
        ToolUse("c2", "apply_patch", {"changes": [{"path": "a"}]}),
        ToolUse("c3", "web_search", {"query": "herons"}),
        ToolUse("c4", "s.t", {"a": 1}),
        ToolUse("c5", "irc_send", {"a": 1}),
    ]
    assert items.begun({"type": "agentMessage", "id": "m", "text": ""}) is None


def test_what_was_said_or_thought_is_told_once_it_is_whole():
    assert items.completed({"type": "agentMessage", "text": "hi"}) == Text("hi")
    thought = {"type": "reasoning", "summary": ["a", "b"]}
    assert items.completed(thought) == Thinking("a\nb")
    assert items.completed({"type": "reasoning", "summary": []}) is None
    assert items.completed({"type": "userMessage", "content": []}) is None


def test_what_a_tool_returned_is_told_when_it_has():
    shell = {"type": "commandExecution", "id": "c1", "status": "completed"}
    declined = {**shell, "status": "declined", "aggregatedOutput": None, "exitCode": None}
    own = {"type": "dynamicToolCall", "id": "c5", "success": False}
    server = {"type": "mcpToolCall", "id": "c4", "status": "failed", "error": {"message": "no"}}

    assert [
        items.returned({**shell, "aggregatedOutput": "a\nb\n", "exitCode": 0}),
        items.returned({**shell, "aggregatedOutput": "oh\n", "exitCode": 2}),
        items.returned(declined),
        items.returned({**own, "contentItems": [{"type": "inputText", "text": "no such nick"}]}),
        items.returned(server),
        items.returned({"type": "agentMessage", "id": "m", "text": "hi"}),
    ] == [
        ToolResult("c1", "a\nb\n"),
        ToolResult("c1", "oh\n[exit status 2]", failed=True),
        ToolResult("c1", "declined", failed=True),
        ToolResult("c5", "no such nick", failed=True),
        ToolResult("c4", "no", failed=True),
        None,
    ]


def tokens(given, cached, made):
    counts = {"inputTokens": given, "cachedInputTokens": cached, "outputTokens": made}
    return {**counts, "totalTokens": given + made}


def test_a_turn_has_used_what_each_of_its_requests_did():
    turn = items.CodexTurn(Usage(800, 0, 80))
    turn.used({"total": tokens(900, 0, 90), "last": tokens(100, 0, 10), "modelContextWindow": 1000})
    turn.used({"total": tokens(1050, 100, 140), "last": tokens(150, 100, 50), "modelContextWindow": 1000})

    told = turn.result({"status": "completed", "durationMs": 7, "error": None})

    assert told.usage == Usage(250, 100, 60)
    assert (told.context, told.duration_ms, told.cost_usd) == (0.2, 7, None)
    assert (told.failed, told.asked) == (False, True)


def test_a_turn_that_fails_and_repeats_the_last_report_has_used_nothing():
    turn = items.CodexTurn(Usage(900, 0, 90))
    turn.used({"total": tokens(900, 0, 90), "last": tokens(100, 0, 10), "modelContextWindow": 1000})

    assert turn.usage == Usage()


def test_the_first_turn_of_a_resumed_thread_has_used_what_its_requests_did():
    turn = items.CodexTurn(None)
    turn.used({"total": tokens(900, 0, 90), "last": tokens(100, 0, 10), "modelContextWindow": 1000})
    turn.used({"total": tokens(1050, 100, 140), "last": tokens(150, 100, 50), "modelContextWindow": 1000})

    assert turn.usage == Usage(250, 100, 60)


def test_each_quota_window_is_told_by_name():
    primary = {"usedPercent": 43, "windowDurationMins": 300, "resetsAt": 2000}
    secondary = {"usedPercent": 100, "windowDurationMins": 10080, "resetsAt": 3000}

    assert rate_limits({"primary": primary, "secondary": secondary}) == [
        RateLimit(False, "five_hour", 0.43, 2000),
        RateLimit(False, "seven_day", 1.0, 3000),
    ]
    reached = {"primary": primary, "secondary": secondary, "rateLimitReachedType": "rate_limit_reached"}
    assert [limit.is_exhausted for limit in rate_limits(reached)] == [False, True]
    assert rate_limits({"primary": None, "secondary": None}) == []
    assert rate_limits({"primary": {"usedPercent": 1}}) == [RateLimit(False, "", 0.01)]


def failed(info, message="it broke"):
    return {"status": "failed", "error": {"message": message, "codexErrorInfo": info}}


@pytest.mark.parametrize(
    ("turn", "error", "status"),
    [
        ({"status": "interrupted", "error": None}, "interrupted", None),
        (failed("unauthorized"), "the API of the model refuses the key (status 401)", 401),
        (failed("serverOverloaded"), "the model is overloaded (status 529)", 529),
        (
            failed({"responseTooManyFailedAttempts": {"httpStatusCode": 429}}),
            "the rate limit of the model is reached (status 429)",
            429,
        ),
        (failed({"httpConnectionFailed": {"httpStatusCode": None}}), "it broke", None),
        (failed("contextWindowExceeded", "too\nlong"), "too long", None),
        (failed(None), "it broke", None),
        (failed(None, ""), "codex gave no reason", None),
        ({"status": "failed", "error": None}, "codex gave no reason", None),
    ],
)
def test_a_failure_is_told_in_one_line(turn, error, status):
    told = items.CodexTurn(None).result(turn)

    assert (told.failed, told.error, told.status) == (True, error, status)
