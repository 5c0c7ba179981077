import dataclasses
from pathlib import Path

import pytest

from culture.config.agents import AgentConfig
from culture.ctl.up.environment import child_environment, require_logins
from culture.errors import UnavailableError


def test_children_get_ours_but_not_what_a_manager_said_to_us():
    ours = {
        "PATH": "/bin",
        "LISTEN_FDS": "1",
        "NOTIFY_SOCKET": "/n",
        "CULTURE_SOCKET": "/s",
        "CULTURE_HOME": "/a",
    }

    assert child_environment(ours, Path("/b")) == {"PATH": "/bin", "CULTURE_HOME": "/b"}


CLAUDE = AgentConfig("spark-claude")
CODEX = AgentConfig("spark-codex", agent="codex")
COPILOT = AgentConfig("spark-copilot", agent="copilot")
OPENCODE = AgentConfig("spark-open", agent="acp")
CLINE = AgentConfig("spark-cline", agent="acp", acp_command=("cline", "--acp"))
BY_ACP = AgentConfig("spark-acp", agent="acp", acp_command=("codex-acp",))
ODD = AgentConfig("spark-odd", agent="acp", acp_command=("/opt/odd", "acp"))


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        (CLAUDE, "ANTHROPIC_API_KEY"),
        (CLAUDE, "CLAUDE_CODE_OAUTH_TOKEN"),
        (CLAUDE, "CLAUDE_CODE_USE_BEDROCK"),
        (CODEX, "OPENAI_API_KEY"),
        (COPILOT, "COPILOT_GITHUB_TOKEN"),
        (COPILOT, "COPILOT_PROVIDER_BASE_URL"),
        (CLINE, "CLINE_API_KEY"),
        (BY_ACP, "OPENAI_API_KEY"),
        (dataclasses.replace(CODEX, key_variable="AZURE_KEY"), "AZURE_KEY"),
    ],
)
def test_a_key_will_do(agent: AgentConfig, name: str):
    assert require_logins([agent], {name: "1"}, "culturectl login") == []


@pytest.mark.parametrize(
    ("agent", "variable", "file"),
    [
        (CLAUDE, "HOME", ".claude/.credentials.json"),
        (CLAUDE, "CLAUDE_CONFIG_DIR", ".credentials.json"),
        (CODEX, "HOME", ".codex/auth.json"),
        (CODEX, "CODEX_HOME", "auth.json"),
        (COPILOT, "HOME", ".copilot/config.json"),
        (CLINE, "HOME", ".cline/data/settings/providers.json"),
        (BY_ACP, "HOME", ".codex/auth.json"),
    ],
)
def test_a_login_will_do_and_is_not_read(agent: AgentConfig, variable: str, file: str, tmp_path: Path):
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text("not even JSON")

    assert require_logins([agent], {"HOME": "/nowhere", variable: str(tmp_path)}, "culturectl login") == []


@pytest.mark.parametrize("agent", [OPENCODE, ODD, dataclasses.replace(CODEX, key_credential="codex")])
def test_what_may_work_without_a_login_is_let_pass(agent: AgentConfig, tmp_path: Path):
    assert require_logins([agent], {"HOME": str(tmp_path)}, "culturectl login") == []


@pytest.mark.parametrize(
    ("agent", "name", "variable"),
    [
        (CLAUDE, "Claude", "ANTHROPIC_API_KEY"),
        (CODEX, "Codex", "OPENAI_API_KEY"),
        (CLINE, "Cline", "CLINE_API_KEY"),
    ],
)
def test_neither_key_nor_login_is_said_with_what_to_do(
    agent: AgentConfig, name: str, variable: str, tmp_path: Path
):
    with pytest.raises(UnavailableError) as refused:
        require_logins([agent], {"HOME": str(tmp_path), variable: ""}, "culturectl login")

    assert str(refused.value) == f"--live needs a key or a {name} login, and there is neither"
    hint = f"culturectl login {agent.nick}, or export {variable}=…, or go on without --live"
    assert refused.value.hint == hint


def test_one_of_several_that_cannot_work_is_told_and_the_others_run(tmp_path: Path):
    env = {"HOME": str(tmp_path), "OPENAI_API_KEY": "1"}

    assert require_logins([CLAUDE, CODEX], env, "culturectl login") == [
        "spark-claude has neither a key nor a login: "
        "culturectl login spark-claude, or export ANTHROPIC_API_KEY=…"
    ]
