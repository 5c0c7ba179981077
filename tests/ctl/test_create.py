"""Agents are added to agents.yaml and removed from it; comments stay, and nothing half-written is left."""

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest
import yaml

from culture.config import loader
from culture.config.agents import AgentsConfig
from culture.ctl import main
from culture.errors import ConfigError, UsageError

ROOT = Path(__file__).resolve().parents[2]
TWO_AGENTS = """\
# Our agents.
agents:
  # The one that everybody knows.
  - nick: spark-claude
    channels: ["#general"]  # only there
  - nick: spark-codex
    agent: codex

# Turns are short here.
turns:
  stall_timeout_s: 60
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CULTURE_HOME", str(tmp_path))
    monkeypatch.setattr("socket.gethostname", lambda: "spark")
    (tmp_path / "agents.yaml").write_text(TWO_AGENTS)
    return tmp_path


def nicks(home: Path) -> list[str]:
    return [agent.nick for agent in loader.load(home / "agents.yaml", AgentsConfig).agents]


def test_a_new_agent_is_added_behind_the_others_and_comments_stay(home: Path):
    assert main.run(["create", "spark-new", "--backend", "codex", "--channels", "#ops,#dev"]) == 0

    assert nicks(home) == ["spark-claude", "spark-codex", "spark-new"]
    text = (home / "agents.yaml").read_text()
    added = "  - nick: spark-new\n    agent: codex\n    channels:\n    - '#ops'\n    - '#dev'\n"
    assert text == TWO_AGENTS.replace("    agent: codex\n", f"    agent: codex\n{added}")


@pytest.mark.parametrize("text", ["", "turns: {crashes: 2}\n", "agents: []\n", None])
def test_the_first_agent_is_added_whatever_the_file_has(home: Path, text: str | None):
    shipped = (ROOT / "etc/agents.yaml").read_text()
    (home / "agents.yaml").write_text(shipped if text is None else text)

    main.run(["create", "spark-new"])
    main.run(["create", "spark-newer"])

    assert nicks(home) == ["spark-new", "spark-newer"]
    assert text is not None or (home / "agents.yaml").read_text().startswith(shipped)


def test_a_dry_run_shows_the_file_and_writes_nothing(home: Path, capsys: pytest.CaptureFixture[str]):
    main.run(["create", "spark-new", "--dry-run"])
    main.run(["remove", "spark-codex", "--dry-run"])

    assert "  - nick: spark-new" in capsys.readouterr().out
    assert (home / "agents.yaml").read_text() == TWO_AGENTS


@pytest.mark.parametrize("arguments", [["new"], ["spark-new", "--channels", "ops"], ["spark-" + "x" * 40]])
def test_an_agent_that_would_be_wrong_is_not_added(home: Path, arguments: list[str]):
    with pytest.raises(ConfigError) as refused:
        main.run(["create", *arguments])

    assert refused.value.problems[0].where == "the new agent"
    assert (home / "agents.yaml").read_text() == TWO_AGENTS


def test_an_agent_that_exists_and_one_without_a_name_are_refused(home: Path):
    with pytest.raises(UsageError):
        main.run(["create", "SPARK-claude"])
    with pytest.raises(UsageError) as refused:
        main.run(["create"])
    assert refused.value.hint == "culturectl create spark-claude"


def test_in_a_terminal_it_asks_for_what_it_needs(home: Path, culturectl: str):
    manager, terminal = pty.openpty()
    with open(manager, "wb", buffering=0) as typed:
        typed.write(b"spark-asked\ncodex\n#ops\n\n")
        env = {**os.environ, "CULTURE_HOME": str(home)}
        command = [culturectl, "create"]
        subprocess.run(command, stdin=terminal, stderr=terminal, env=env, timeout=30, check=True)
        os.close(terminal)

    agents = loader.load(home / "agents.yaml", AgentsConfig).agents
    assert (agents[-1].nick, agents[-1].agent, agents[-1].channels) == ("spark-asked", "codex", ("#ops",))


def test_an_agent_is_removed_with_its_lines_alone(home: Path):
    assert main.run(["remove", "spark-codex"]) == 0
    text = TWO_AGENTS.replace("  - nick: spark-codex\n    agent: codex\n", "")
    assert (home / "agents.yaml").read_text() == text

    assert main.run(["remove", "spark-claude"]) == 0
    assert nicks(home) == []
    with pytest.raises(ConfigError):
        main.run(["remove", "spark-claude"])


def test_a_list_in_brackets_is_left_to_the_person(home: Path):
    (home / "agents.yaml").write_text("agents: [{nick: spark-claude}]\n")

    for verb in (["create", "spark-new"], ["remove", "spark-claude"]):
        with pytest.raises(ConfigError) as refused:
            main.run(verb)
        assert refused.value.problems[0].hint == "culturectl edit agents"


def test_a_file_with_mistakes_is_not_installed_by_edit(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("VISUAL", "sed -i s/stall_timeout_s/stal_timeout_s/")
    with pytest.raises(ConfigError) as refused:
        main.run(["edit", "agents"])
    assert refused.value.problems[0].where == f"{home / 'agents.yaml'}:11"
    assert (home / "agents.yaml").read_text() == TWO_AGENTS

    monkeypatch.setenv("VISUAL", "sed -i s/60/90/")
    assert main.run(["edit", "agents"]) == 0
    assert (home / "agents.yaml").read_text() == TWO_AGENTS.replace("60", "90")


def test_cat_prints_every_key_as_it_is_in_effect(home: Path, capsys: pytest.CaptureFixture[str]):
    (home / "ircd.yaml").write_text("name: spark\n")

    assert main.run(["cat"]) == 0
    server = yaml.safe_load(capsys.readouterr().out)
    assert (server["name"], server["nick_policy"]) == ("spark", "prefixed")
    main.run(["cat", "spark-codex"])
    agents = yaml.safe_load(capsys.readouterr().out)
    assert [agent["nick"] for agent in agents["agents"]] == ["spark-codex"]
    assert (agents["turns"]["stall_timeout_s"], agents["buffer_size"]) == (60.0, 500)
    main.run(["cat", "spark-codex", "--json"])
    assert json.loads(capsys.readouterr().out) == agents


def test_show_prints_properties_for_programs(home: Path, capsys: pytest.CaptureFixture[str]):
    assert main.run(["show", "spark-codex"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert "nick=spark-codex" in told
    assert any(line.startswith("state=") for line in told)
    assert "unit=culture-agent@spark-codex.service" in told

    main.run(["show", "spark-codex", "--property", "channels", "--value"])
    assert capsys.readouterr().out == "#general\n"
    main.run(["show", "spark-codex", "--json"])
    assert json.loads(capsys.readouterr().out)["backend"] == "codex"
