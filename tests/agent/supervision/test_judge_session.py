"""A judge runs on the agent's backend with its key, or on another one with a key of its own."""

from pathlib import Path

from culture.agent.contract import SessionSpec
from culture.agent.supervision.judge_session import judge_session
from culture.config.agent.supervisor import SupervisorConfig
from culture.config.agents import AgentConfig

CODEX = AgentConfig("spark-codex", agent="codex", model="o3")
SPEC = SessionSpec(
    Path("/srv"),
    "You are spark-codex.",
    {"PATH": "/bin", "OPENAI_API_KEY": "of the agent"},
    "o3",
    "high",
    resume="s1",
    secret_variables=("OPENAI_API_KEY", "CODEX_API_KEY"),
    command=("codex-nightly",),
)


def test_the_same_backend_has_the_agent_s_model_program_and_key():
    backend, spec = judge_session(SupervisorConfig(), CODEX, SPEC, "")

    assert backend == "codex"
    assert (spec.model, spec.thinking, spec.command) == ("o3", "low", ("codex-nightly",))
    assert spec.env["OPENAI_API_KEY"] == "of the agent"
    assert (spec.briefing, spec.resume, spec.tools) == ("", "", ())


def test_the_same_backend_may_have_another_key():
    _, spec = judge_session(SupervisorConfig(model="o4-mini"), CODEX, SPEC, "of the judge")

    assert (spec.model, spec.env["OPENAI_API_KEY"]) == ("o4-mini", "of the judge")


def test_another_backend_does_not_see_the_agent_s_key():
    settings = SupervisorConfig(agent="claude", thinking="ultrathink")

    backend, spec = judge_session(settings, CODEX, SPEC, "of the judge")

    assert backend == "claude"
    assert spec.env == {"PATH": "/bin", "ANTHROPIC_API_KEY": "of the judge"}
    assert (spec.model, spec.thinking, spec.command) == ("", "max", ())
    assert "ANTHROPIC_API_KEY" in spec.secret_variables

    _, spec = judge_session(SupervisorConfig(agent="acp"), CODEX, SPEC, "")
    assert (spec.env, spec.command) == ({"PATH": "/bin"}, ("opencode", "acp"))
