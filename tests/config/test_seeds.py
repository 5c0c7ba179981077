"""The configuration files of the design documents load as they stand."""

from pathlib import Path

import pytest

from culture.config.agent.supervisor import SupervisorConfig
from culture.config.agents import AgentsConfig
from culture.config.loader import load, parse

SEEDS = Path(__file__).with_name("seeds")
SUPERVISOR = SupervisorConfig(model="claude-sonnet-4-6", thinking="medium")


def test_the_file_of_the_harness():
    config = load(SEEDS / "harness.yaml", AgentsConfig)

    assert config.supervisor == SUPERVISOR
    assert config.webhooks.alerts_channel == "#alerts"
    (agent,) = config.agents
    assert (agent.nick, agent.model, agent.thinking) == ("spark-culture", "claude-opus-4-6", "medium")


def test_the_file_with_all_backends():
    config = load(SEEDS / "backends.yaml", AgentsConfig)

    assert [agent.agent for agent in config.agents] == ["claude", "codex", "acp"]
    assert config.agents[2].acp_command == ("cline", "--acp")
    for agent in config.agents:
        assert agent.supervisor.applied_to(config.supervisor).agent == "claude"


def test_the_fragments_about_questions():
    config = load(SEEDS / "questions.yaml", AgentsConfig)

    assert config.webhooks.on_spiraling == "https://discord.com/api/webhooks/..."
    assert (config.trust.agents, config.trust.timeout_s, config.trust.timeout_action) == (
        "vote",
        1800,
        "pause",
    )


@pytest.mark.parametrize(
    "text",
    ["supervisor: {thinking: ultrathink}", "agents: [{nick: spark-claude, thinking: ultrathink}]"],
)
def test_ultrathink_is_a_level_of_thinking(text: str):
    parse(text, AgentsConfig, where="agents.yaml")
