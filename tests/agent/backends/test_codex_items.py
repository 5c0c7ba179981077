"""What the app-server reports, in the words of the contract."""

import pytest

from culture.agent.backends.codex import items


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
        {"type": "tool_use", "id": "c1", "name": "shell", "input": {"command": "ls"}},
        {"type": "tool_use", "id": "c2", "name": "apply_patch", "input": {"changes": [{"path": "a"}]}},
        {"type": "tool_use", "id": "c3", "name": "web_search", "input": {"query": "herons"}},
        {"type": "tool_use", "id": "c4", "name": "s.t", "input": {"a": 1}},
        {"type": "tool_use", "id": "c5", "name": "irc_send", "input": {"a": 1}},
    ]
    assert items.begun({"type": "agentMessage", "id": "m", "text": ""}) is None


def test_what_was_said_or_thought_is_told_once_it_is_whole():
    assert items.completed({"type": "agentMessage", "text": "hi"}) == {"type": "text", "text": "hi"}
    thought = {"type": "reasoning", "summary": ["a", "b"]}
    assert items.completed(thought) == {"type": "thinking", "thinking": "a\nb"}
    assert items.completed({"type": "reasoning", "summary": []}) is None
    assert items.completed({"type": "userMessage", "content": []}) is None


def tokens(given, cached, made):
    counts = {"inputTokens": given, "cachedInputTokens": cached, "outputTokens": made}
    return {**counts, "totalTokens": given + made}


def test_a_turn_has_used_what_each_of_its_requests_did():
    turn = items.Turn()
    turn.used({"total": tokens(900, 0, 90), "last": tokens(100, 0, 10), "modelContextWindow": 1000})
    turn.used({"total": tokens(1050, 100, 95), "last": tokens(150, 100, 50), "modelContextWindow": 1000})

    told = turn.result({"status": "completed", "durationMs": 7, "error": None})

    assert told["usage"] == {"input_tokens": 250, "cached_tokens": 100, "output_tokens": 60}
    assert (told["context"], told["duration_ms"], told["cost_usd"]) == (0.2, 7, None)
    assert (told["failed"], told["asked"]) == (False, True)


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
    told = items.Turn().result(turn)

    assert (told["failed"], told["error"], told["status"]) == (True, error, status)
