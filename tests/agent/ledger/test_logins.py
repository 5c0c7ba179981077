"""Agents with the same key or account have one login, and so one quota."""

import json
from pathlib import Path

from culture.agent.ledger.logins import login_identity
from culture.config.agents import AgentConfig

CLAUDE = AgentConfig(nick="spark-claude")
CODEX = AgentConfig(nick="spark-codex", agent="codex")


def test_the_same_key_is_the_same_login_and_is_not_readable():
    one = login_identity(CLAUDE, "sk-secret", {})

    assert one == login_identity(AgentConfig(nick="spark-other"), "", {"ANTHROPIC_API_KEY": "sk-secret"})
    assert one != login_identity(CLAUDE, "sk-other", {})
    assert one != login_identity(CODEX, "sk-secret", {})
    assert "secret" not in one


def test_logins_of_two_users_to_one_account_are_the_same(tmp_path: Path):
    for home in ("one", "two"):
        (tmp_path / home).mkdir()
        account = {"oauthAccount": {"accountUuid": "a-1"}}
        (tmp_path / home / ".claude.json").write_text(json.dumps(account))

    ids = {login_identity(CLAUDE, "", {"HOME": str(tmp_path / home)}) for home in ("one", "two")}

    assert ids == {"claude:account:a-1"}


def test_an_unreadable_login_belongs_to_the_unix_user(tmp_path: Path):
    (tmp_path / "auth.json").write_text('{"tokens": []}')

    assert login_identity(CODEX, "", {"CODEX_HOME": str(tmp_path)}).startswith("codex:user:")
    assert login_identity(CLAUDE, "", {"HOME": str(tmp_path)}).startswith("claude:user:")


def test_a_program_that_starts_claude_shares_its_login():
    by_acp = AgentConfig(nick="spark-acp", agent="acp", acp_command=("claude-agent-acp",))

    assert login_identity(by_acp, "key", {}) == login_identity(CLAUDE, "key", {})
