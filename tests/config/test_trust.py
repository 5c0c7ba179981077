"""`trust:` as the first design has it."""

import pytest

from culture.config.agents import AgentsConfig
from culture.config.loader import parse
from culture.errors import ConfigError

FIRST_DESIGN = """
trust:
  humans: always
  agents: vote    # or "first", "consensus", "never"
  timeout: 30m
  timeout_action: pause  # or "deny", "abort"
"""


def test_the_block_of_the_first_design_loads_and_is_the_default():
    assert parse(FIRST_DESIGN, AgentsConfig, where="agents.yaml") == AgentsConfig()


def test_an_agent_has_its_own_trust():
    text = "agents: [{nick: spark-claude, trust: {agents: never, timeout: 90s, window: 2h}}]"
    trust = parse(text, AgentsConfig, where="agents.yaml").agents[0].trust

    assert trust is not None
    assert (trust.agents, trust.timeout_s, trust.window_s, trust.timeout_action) == (
        "never",
        90.0,
        7200.0,
        "pause",
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("trust: {timeout: 30}", "'trust.timeout': expected text"),
        ("trust: {timeout: 30 minutes}", "'30 minutes' is not a time span"),
        ("trust: {window: 0s}", "'0s' is not a time span"),
        ("trust: {humans: never}", "expected one of always"),
        ("trust: {agents: majority}", "expected one of vote, first, consensus, never"),
        ("trust: {timeout_action: allow}", "expected one of pause, deny, abort"),
        ("trust: {quorum: 0}", "must be at least 1"),
        ("trust: {voters: 2}", "unknown key 'voters'"),
    ],
)
def test_what_cannot_be_trusted_is_refused(text, problem):
    with pytest.raises(ConfigError) as refused:
        parse(text, AgentsConfig, where="agents.yaml")

    assert problem in str(refused.value)
