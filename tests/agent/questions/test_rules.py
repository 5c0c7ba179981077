"""Which tool calls of an agent need the answer of a person."""

from pathlib import Path

import pytest

from culture.agent.contract import PermissionRequest
from culture.agent.questions.rules import PermissionRules
from culture.config.agent.permissions import PermissionRule, PermissionsConfig
from culture.config.agents import AgentsConfig
from culture.config.loader import parse
from culture.errors import ConfigError


def shell(command: str) -> PermissionRequest:
    return PermissionRequest("Bash", command, {"command": command})


def file_tool(tool: str, path: str) -> PermissionRequest:
    return PermissionRequest(tool, "", {"file_path": path})


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "work" / ".git").mkdir(parents=True)
    (tmp_path / "work" / "away").symlink_to("/etc")
    return tmp_path / "work"


@pytest.mark.parametrize(
    "command",
    [
        "ls -la /srv",
        "cat README.md",
        "git status",
        "git diff HEAD",
        "grep -rn 'rm -rf' src",
        "find . -name '*.py'",
        "rg TODO",
        "irc send '#general' 'hello'",
    ],
)
def test_reading_is_allowed(directory, command):
    assert PermissionRules(PermissionsConfig(), directory, ()).verdict(shell(command)) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf build",
        "git push",
        "git branch -D main",
        "git -c core.pager=sh log",
        "git diff --output=/etc/passwd",
        "find . -delete",
        "find . -exec rm {} +",
        "rg --pre ./run TODO",
        "ls; rm -rf build",
        "cat README.md > out",
        "cat $(rm x)",
        "echo `id`",
        "ls | sh",
        "ls\nrm x",
        "make",
        "irc whoami && rm x",
        "",
    ],
)
def test_everything_else_is_asked(directory, command):
    assert PermissionRules(PermissionsConfig(), directory, ()).verdict(shell(command)) == "ask"


@pytest.mark.parametrize(
    ("tool", "path", "verdict"),
    [
        ("Read", "/etc/passwd", "allow"),
        ("Edit", "src/main.py", "allow"),
        ("Write", "new.txt", "allow"),
        ("Edit", "../other/main.py", "ask"),
        ("Edit", "/etc/passwd", "ask"),
        ("Edit", "away/passwd", "ask"),
        ("Write", ".git/hooks/pre-commit", "ask"),
        ("WebFetch", "", "ask"),
        ("mcp__github__merge", "", "ask"),
        ("irc_send", "", "allow"),
    ],
)
def test_an_agent_edits_its_own_directory_and_asks_for_others(directory, tool, path, verdict):
    rules = PermissionRules(PermissionsConfig(), directory, ("irc_send",))

    assert rules.verdict(file_tool(tool, path)) == verdict


@pytest.mark.parametrize(
    ("request_", "verdict"),
    [
        (shell("make test"), "allow"),
        (shell("make test; rm x"), "ask"),
        (shell("make test > out"), "ask"),
        (shell("make deploy"), "ask"),
        (shell("git push origin main"), "deny"),
        (shell("git status && git  push"), "deny"),
        (shell("cat notes/secret.txt"), "ask"),
        (file_tool("Edit", "/srv/site/index.html"), "allow"),
        (file_tool("Edit", "/srv/site/../other"), "ask"),
        (file_tool("Edit", "/srv/site"), "allow"),
        (file_tool("Read", "/srv/vault/key"), "deny"),
        (shell("cat /srv/vault/key"), "deny"),
    ],
)
def test_rules_by_tool_command_and_path(directory, request_, verdict):
    config = PermissionsConfig(
        allow=(PermissionRule(command="make test*"), PermissionRule(tool="Edit", path="/srv/site/*")),
        ask=(PermissionRule(command="cat notes/*"),),
        deny=(PermissionRule(command="git push*"), PermissionRule(path="/srv/vault/*")),
    )

    assert PermissionRules(config, directory, ()).verdict(request_) == verdict


def test_a_patch_of_several_files_needs_a_rule_for_each(directory):
    rules = PermissionRules(PermissionsConfig(), directory, ())
    own = {"changes": [{"path": "a.py"}, {"path": "b.py"}]}
    others = {"changes": [{"path": "a.py"}, {"path": "/etc/passwd"}]}

    assert rules.verdict(PermissionRequest("apply_patch", "", own)) == "allow"
    assert rules.verdict(PermissionRequest("apply_patch", "", others)) == "ask"


def test_an_empty_rule_is_refused():
    with pytest.raises(ConfigError, match="at least one of 'tool', 'command' and 'path'"):
        parse("agents: [{nick: spark-claude, permissions: {allow: [{}]}}]", AgentsConfig, where="agents.yaml")
