"""`culturectl login`: the backend's own login, as the user and with the home that the agent has.

Logging in needs the network: a program that writes down how it was started stands in for the backend's.
"""

import json
import os
import sys
from pathlib import Path

import pytest

from culture.config import paths
from culture.ctl.main import run
from culture.errors import NotAllowedError, UnavailableError

RECORDER = f"""#!{sys.executable}
import json, os, sys
env = {{name: os.environ.get(name) for name in ("HOME", "CODEX_HOME")}}
with open(os.environ["RECORD"], "w") as record:
    json.dump({{"argv": sys.argv, **env}}, record)
sys.exit(int(os.environ.get("STATUS", "0")))
"""

SYSTEMCTL = """#!/bin/sh
# Says what the unit of an agent has: its user, or the one of agents.yaml, and the home of its state.
nick=$(printf %s "$*" | sed 's/.*culture-agent@\\(.*\\).service.*/\\1/')
echo "Id=culture-agent@$nick.service"
echo LoadState=loaded
case $nick in *-ori) echo User=ori ;; *) echo "User=culture-$nick" ;; esac
echo "Environment=PYTHONFAULTHANDLER=1 HOME=/var/lib/culture/agents/$nick \\"CODEX_HOME=/srv/my codex\\""
"""

AGENTS = """agents:
  - {nick: spark-claude, command: [claude-of-ours]}
  - {nick: spark-codex, agent: codex}
  - {nick: spark-ori, agent: codex, user: ori}
  - {nick: spark-copilot, agent: copilot}
  - {nick: spark-open, agent: acp}
  - {nick: spark-cline, agent: acp, acp_command: [cline]}
  - {nick: spark-byacp, agent: acp, acp_command: [codex-acp]}
  - {nick: spark-odd, agent: acp, acp_command: [odd, acp]}
"""
PROGRAMS = ("claude-of-ours", "codex", "copilot", "opencode", "cline", "odd", "systemd-run")


@pytest.fixture
def bin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The programs, on a PATH that has nothing else."""
    place = tmp_path / "bin"
    place.mkdir()
    for name in PROGRAMS:
        (place / name).write_text(RECORDER)
    (place / "systemctl").write_text(SYSTEMCTL)
    for program in place.iterdir():
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}:/usr/bin:/bin")
    monkeypatch.setenv("RECORD", str(tmp_path / "record"))
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    return place


@pytest.fixture
def record(bin: Path, tmp_path: Path):
    """How the program was started that ran last."""
    return lambda: json.loads((tmp_path / "record").read_text())


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a person runs `culturectl up`."""
    (tmp_path / "agents.yaml").write_text(AGENTS)
    monkeypatch.setenv("CULTURE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    return tmp_path


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "agents.yaml").write_text(AGENTS)
    monkeypatch.delenv("CULTURE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "root"))
    monkeypatch.setattr(paths, "SYSTEM_CONFIG", tmp_path)
    monkeypatch.setattr("culture.ctl.verbs.agents.login._SERVICE_PATH", f"{tmp_path}/bin")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return tmp_path


@pytest.mark.parametrize(
    ("nick", "words"),
    [
        ("spark-claude", ["claude-of-ours", "auth", "login"]),
        ("spark-codex", ["codex", "login", "--device-auth"]),
        ("spark-copilot", ["copilot", "login", "--device-code"]),
        ("spark-open", ["opencode", "auth", "login"]),
        ("spark-cline", ["cline", "auth"]),
        ("spark-byacp", ["codex", "login", "--device-auth"]),
    ],
)
def test_without_systemd_it_is_the_login_of_the_caller(home, bin, record, nick, words, capsys):
    assert run(["login", nick]) == 0

    assert record() == {"argv": [str(bin / words[0]), *words[1:]], "HOME": f"{home}/me", "CODEX_HOME": None}
    first, second, third = capsys.readouterr().err.splitlines()
    assert first.startswith(f"logging in {nick} (")
    assert first.endswith(f" as you, in '{home}/me'")
    assert second.startswith("no browser is available: ")
    assert third == "hint: an API key needs no login; see key_credential in culture-agents.yaml(5)"


def test_where_there_is_a_browser_the_program_may_open_it(home, bin, record, monkeypatch, capsys):
    monkeypatch.setenv("DISPLAY", ":0")

    run(["login", "spark-codex"])

    assert record()["argv"] == [str(bin / "codex"), "login"]
    assert "there is no browser" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("nick", "user", "more"),
    [
        (
            "spark-codex",
            "culture-spark-codex",
            [
                "--property=Requires=culture-agent-user@spark-codex.service",
                "--property=After=culture-agent-user@spark-codex.service",
            ],
        ),
        ("spark-ori", "ori", []),
    ],
)
def test_of_a_service_it_is_the_login_of_its_user_in_its_home(
    installed, bin, record, capsys, nick, user, more
):
    assert run(["login", nick]) == 0

    state = f"/var/lib/culture/agents/{nick}"
    assert record()["argv"] == [
        str(bin / "systemd-run"),
        *("--quiet", "--collect", "--wait", "--service-type=exec", "--pipe"),
        f"--description=Login of Culture agent {nick}",
        f"--property=User={user}",
        f"--property=StateDirectory=culture/agents/{nick}",
        *("--property=StateDirectoryMode=0700", "--property=UMask=0077"),
        *more,
        f"--setenv=PATH={bin}",
        f"--setenv=HOME={state}",
        *("--setenv=PYTHONFAULTHANDLER=1", "--setenv=CODEX_HOME=/srv/my codex"),
        f"--working-directory={state}",
        *("--", str(bin / "codex"), "login", "--device-auth"),
    ]
    told = capsys.readouterr().err
    assert told.startswith(f"logging in {nick} (codex) as user '{user}', in '{state}'\n")
    assert told.endswith(f"hint: systemctl restart culture-agent@{nick}\n")


def test_another_command_runs_in_the_same_place(installed, bin, record):
    assert run(["login", "spark-odd", "--", "odd", "configure", "--provider", "x"]) == 0

    assert record()["argv"][-5:] == ["--", str(bin / "odd"), "configure", "--provider", "x"]


def test_a_login_that_fails_is_told_by_its_status(home, bin, record, monkeypatch):
    monkeypatch.setenv("STATUS", "3")

    assert run(["login", "spark-codex"]) == 3


def test_a_program_that_is_not_known_needs_a_command(home, bin):
    with pytest.raises(UnavailableError, match="the login command of 'odd' is unknown") as told:
        run(["login", "spark-odd"])

    assert told.value.hint == "culturectl login spark-odd -- odd ARGUMENTS…"


def test_a_program_that_is_not_there_is_told_with_how_to_get_it(installed, bin):
    (bin / "codex").unlink()

    with pytest.raises(UnavailableError, match="the program 'codex' is not on the agent's PATH") as told:
        run(["login", "spark-codex"])

    assert told.value.hint == "npm install -g @openai/codex"


def test_only_root_logs_in_as_somebody_else(installed, bin, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    with pytest.raises(NotAllowedError) as told:
        run(["login", "spark-codex"])

    assert told.value.hint == "sudo culturectl login spark-codex"
