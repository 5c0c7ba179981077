"""What the copilot driver makes of a specification and of the CLI's events."""

from pathlib import Path

import pytest

from culture.agent.backend.permission import only_irc
from culture.agent.backends.copilot.events import CopilotTurn, assistant, context_of, rate_limits, request_of
from culture.agent.backends.copilot.settings import make_settings
from culture.agent.contract import (
    Assistant,
    RateLimit,
    Result,
    SessionSpec,
    Text,
    Thinking,
    Tool,
    ToolUse,
    Usage,
    UsageReport,
)


def spec(**changes) -> SessionSpec:
    return SessionSpec(Path("/work"), "You are it.", {}, changes.pop("model", ""), "medium", **changes)


async def nothing(arguments) -> str:
    return ""


TOOL = Tool("irc_send", "Say something.", {"type": "object"}, nothing)


def test_a_session_is_briefed_and_asks_even_if_everything_is_allowed():
    settings = make_settings(spec(tools=(TOOL,)), {})

    assert settings["systemMessage"] == {"mode": "append", "content": "You are it."}
    assert settings["requestPermission"]
    assert [tool["name"] for tool in settings["tools"]] == ["irc_send"]
    assert "availableTools" not in settings
    assert "provider" not in settings


def test_a_provider_of_ones_own_is_handed_on():
    env = {
        "COPILOT_PROVIDER_BASE_URL": "http://m/v1",
        "COPILOT_PROVIDER_API_KEY": "k",
        "COPILOT_MODEL": "small",
    }

    settings = make_settings(spec(), env)

    assert settings["provider"] == {"type": "openai", "baseUrl": "http://m/v1", "apiKey": "k"}
    assert settings["model"] == "small"
    assert make_settings(spec(model="large"), env)["model"] == "large"


def test_under_deny_there_is_the_shell_and_our_own_tools():
    settings = make_settings(spec(judge=only_irc(), tools=(TOOL,)), {})

    assert settings["availableTools"] == ["bash", "irc_send"]
    assert (settings["enableConfigDiscovery"], settings["enableFileHooks"]) == (False, False)


def test_a_message_has_thoughts_words_and_calls():
    calls = [{"toolCallId": "t", "name": "bash", "arguments": {"command": "ls"}}]
    told = assistant({"model": "m", "content": "I look", "reasoningText": "hm", "toolRequests": calls})

    assert told == Assistant("m", (Thinking("hm"), Text("I look"), ToolUse("t", "bash", {"command": "ls"})))
    assert assistant({"model": "m", "content": ""}) is None


def turn(*events: tuple[str, dict]) -> Result:
    told = CopilotTurn()
    for kind, data in events:
        told.add(kind, data)
    return told.result(5, 0.5)


def test_tokens_of_all_requests_of_a_turn_are_counted():
    used = {"inputTokens": 100, "cacheReadTokens": 60, "outputTokens": 4}
    result = turn(("assistant.usage", used), ("assistant.usage", used), ("session.idle", {}))

    assert result.usage == Usage(200, 120, 8)
    assert (result.failed, result.cost_usd, result.context) == (False, None, 0.5)


@pytest.mark.parametrize(("told", "status"), [(529, 529), (None, None), (200, None)])
def test_an_error_has_the_status_of_the_api_if_it_was_that(told, status):
    result = turn(("session.error", {"message": "it broke", "statusCode": told}), ("session.idle", {}))

    assert (result.failed, result.status) == (True, status)
    assert "it broke" in result.error or f"status {status}" in result.error


def test_an_error_after_which_the_model_answered_was_none():
    result = turn(("session.error", {"message": "lost a server"}), ("assistant.message", {"content": "ok"}))
    assert not result.failed


def test_a_turn_that_was_aborted_was_interrupted_whatever_else_is_told():
    result = turn(("session.error", {"message": "x", "statusCode": 500}), ("session.idle", {"aborted": True}))
    assert (result.error, result.status) == ("interrupted", None)


def test_an_api_that_fails_for_the_third_time_ends_the_turn_with_its_status():
    failures = [("model.call_failure", {"retryAttempt": n, "statusCode": 429}) for n in range(3)]

    assert not turn(*failures[:2]).failed
    assert turn(*failures, ("session.idle", {"aborted": True})).status == 429


def test_each_quota_of_a_plan_is_told_with_its_reset():
    quota = {
        "remainingPercentage": 25.0,
        "resetDate": "2030-01-01T00:00:00Z",
        "isUnlimitedEntitlement": False,
    }
    reset_s = 1893456000.0

    def limits(**changes) -> list[RateLimit]:
        return rate_limits({"quotaSnapshots": {"premium_interactions": {**quota, **changes}}})

    assert limits() == [RateLimit(False, "premium_interactions", 0.75, reset_s)]
    assert limits(remainingPercentage=0) == [RateLimit(True, "premium_interactions", 1.0, reset_s)]
    # What is paid for by request is not refused.
    assert not limits(remainingPercentage=0, overageAllowedWithExhaustedQuota=True)[0].is_exhausted
    assert limits(resetDate=None) == [RateLimit(False, "premium_interactions", 0.75)]
    assert limits(isUnlimitedEntitlement=True) == []
    assert rate_limits({}) == []


def test_usage_is_reported_as_it_grows():
    turn = CopilotTurn()

    reports = [turn.add("assistant.usage", {"inputTokens": 10, "outputTokens": 1}) for _ in range(2)]

    assert reports == [[UsageReport(Usage(10, 0, 1))], [UsageReport(Usage(20, 0, 2))]]


def test_under_ask_all_tools_are_there_and_nothing_of_the_directory():
    settings = make_settings(spec(judge=only_irc(), is_locked=False), {})

    assert "availableTools" not in settings
    assert settings["enableFileHooks"] is False


def test_the_fill_of_the_context_is_a_share():
    assert context_of({"currentTokens": 32, "tokenLimit": 128}) == 0.25
    assert context_of({"currentTokens": 32, "tokenLimit": 0}) is None
    assert context_of({}) is None


def test_what_it_wants_to_do_is_asked_in_our_words():
    shell = request_of({"kind": "shell", "fullCommandText": "irc send x", "commands": []})
    tool = request_of({"kind": "custom-tool", "toolName": "irc_send", "args": {"text": "hi"}})
    other = request_of({"kind": "read", "path": "/etc/passwd", "command": "irc send x"})

    assert (shell.tool, shell.command) == ("bash", "irc send x")
    assert (tool.tool, tool.command, tool.input) == ("irc_send", "", {"text": "hi"})
    assert (other.tool, other.command) == ("read", "")
