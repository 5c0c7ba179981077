"""Reminders come at most once per interval, only while the agent works, and only if they are switched on."""

import pytest

from culture.agent.contract import Assistant, ContextChanged, Result, Text, ToolUse
from culture.agent.supervision.heartbeat import Heartbeat
from culture.config.agent.supervisor import HeartbeatConfig
from culture.config.loader import parse
from culture.errors import ConfigError

WORDS = Assistant("m", (Text("working"),))


def test_nothing_is_said_by_default():
    heartbeat = Heartbeat(HeartbeatConfig())

    assert heartbeat.observe(WORDS, 0) == ""
    assert heartbeat.observe(WORDS, 1e6) == ""
    assert heartbeat.observe(Result(context=0.99), 1e6) == ""


def test_an_agent_is_reminded_to_read_its_channels():
    heartbeat = Heartbeat(HeartbeatConfig(check_in_s=600))

    assert heartbeat.observe(WORDS, 0) == ""
    assert heartbeat.observe(WORDS, 599) == ""
    assert heartbeat.observe(WORDS, 720).startswith("You haven't checked your channels in 12 minutes.")
    assert heartbeat.observe(WORDS, 721) == ""


@pytest.mark.parametrize(
    "use",
    [
        ToolUse("1", "mcp__irc__irc_read", {"channel": "#general"}),
        ToolUse("1", "Bash", {"command": "irc read '#general'"}),
    ],
)
def test_an_agent_that_reads_its_channels_is_not_reminded(use: ToolUse):
    heartbeat = Heartbeat(HeartbeatConfig(check_in_s=600))

    heartbeat.observe(WORDS, 0)
    heartbeat.observe(Assistant("m", (use,)), 500)

    assert heartbeat.observe(WORDS, 700) == ""


def test_the_time_between_turns_does_not_count():
    heartbeat = Heartbeat(HeartbeatConfig(check_in_s=600))

    heartbeat.observe(WORDS, 0)
    heartbeat.observe(Result(), 10)

    assert heartbeat.observe(WORDS, 5000) == ""


def test_a_full_context_is_mentioned_once_until_it_is_compacted():
    heartbeat = Heartbeat(HeartbeatConfig(compact_at=0.8))

    assert heartbeat.observe(Result(context=0.79), 0) == ""
    assert heartbeat.observe(Result(context=0.82), 0).startswith("Your context is 82 % full.")
    assert heartbeat.observe(Result(context=0.85), 0) == ""
    heartbeat.observe(ContextChanged("compacted"), 0)
    assert heartbeat.observe(Result(context=0.81), 0) != ""


@pytest.mark.parametrize("text", ["check_in_s: -1", "compact_at: 1", "compact_at: -0.1"])
def test_mistakes_are_told(text: str):
    with pytest.raises(ConfigError):
        parse(text, HeartbeatConfig, where="agents.yaml")
