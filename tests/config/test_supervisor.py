"""`supervisor:` in agents.yaml holds for all agents, and each agent may differ."""

import pytest

from culture.config.agent.supervisor import SupervisorConfig
from culture.config.agents import AgentsConfig
from culture.config.loader import parse
from culture.errors import ConfigError


def of_first_agent(text: str) -> SupervisorConfig:
    config = parse(text, AgentsConfig, where="agents.yaml")
    return config.agents[0].supervisor.applied_to(config.supervisor)


def test_an_agent_has_a_supervisor_by_default():
    assert of_first_agent("agents: [{nick: spark-claude}]") == SupervisorConfig()
    assert SupervisorConfig().enabled


def test_an_agent_overrides_single_keys():
    text = """
supervisor: {agent: claude, model: claude-sonnet-4-6, eval_interval: 10}
agents:
  - nick: spark-claude
    supervisor: {model: claude-haiku, window_size: 40}
"""
    assert of_first_agent(text) == SupervisorConfig(
        agent="claude", model="claude-haiku", eval_interval=10, window_size=40
    )


def test_off_is_short_for_not_enabled():
    assert not of_first_agent("supervisor: off\nagents: [{nick: spark-claude}]").enabled
    assert not of_first_agent("agents: [{nick: spark-claude, supervisor: off}]").enabled
    both = "supervisor: off\nagents: [{nick: spark-claude, supervisor: {enabled: true}}]"
    assert of_first_agent(both).enabled


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("supervisor: {agent: gemini}", "'gemini' is not a backend: claude, codex, copilot, acp"),
        ("supervisor: {eval_interval: 0}", "must be at least 1, is 0"),
        ("supervisor: on", "expected keys in 'supervisor', found 'on'"),
        ("turns: off", "expected keys in 'turns', found 'off'"),
        ("agents: [{nick: spark-claude, supervisor: {window_size: 0}}]", "must be at least 1, is 0"),
    ],
)
def test_mistakes_are_told(text: str, wrong: str):
    with pytest.raises(ConfigError, match=wrong):
        parse(text, AgentsConfig, where="agents.yaml")
