"""`culturectl status` and `list-agents` where systemd runs the agents."""

import contextlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from culture import __version__
from culture.config import paths
from culture.config.paths import SYSTEM_RUNTIME
from culture.ctl.agent_call import is_stopped_unit
from culture.ctl.main import run
from culture.ctl.verbs.agents.status import describe
from culture.errors import NoInputError

SYSTEMCTL = """#!/bin/sh
# Notes what it was asked, and says that everything called *stopped* is.
echo "$*" >>"$(dirname "$0")/calls"
unit() {
  printf 'Id=%s\\nLoadState=loaded\\nActiveState=%s\\nSubState=%s\\nStatusText=%s\\n\\n' "$@"
}
case "$*" in
  *is-active*stopped*|*status*stopped*) exit 3 ;;
  show*)
    unit culture-ircd.service active running 'spark: 3 clients in 2 channels'
    unit culture-prune.service failed failed ''
    unit culture-agent@spark-claude.service active running 'idle in #general on 127.0.0.1:6667'
    # Three days ago.
    printf 'Id=culture-agent@spark-failed.service\\nActiveState=failed\\nSubState=failed\\n'
    printf "StatusText=ending: backend 'claude': not logged in\\nStateChangeTimestamp=@%s\\n\\n" \\
      "$(($(date +%s) - 3 * 86400 - 60))" ;;
esac
"""

# The service runs, and nobody answers at its socket.
HUNG = "its process does not answer: no agent answers at"


@pytest.fixture
def bin(tmp_path) -> Path:
    """A directory with a systemctl, as there may be no systemd here to ask."""
    program = tmp_path / "bin" / "systemctl"
    program.parent.mkdir()
    program.write_text(SYSTEMCTL)
    program.chmod(0o755)
    return program.parent


def test_only_a_service_that_does_not_run_is_left_alone(bin, monkeypatch):
    monkeypatch.setenv("PATH", f"{bin}:{os.environ['PATH']}")

    assert is_stopped_unit("spark-stopped", SYSTEM_RUNTIME / "spark-stopped.sock")
    assert not is_stopped_unit("spark-claude", SYSTEM_RUNTIME / "spark-claude.sock")
    assert not is_stopped_unit("spark-stopped", Path("/home/ori/.culture/run/spark-stopped.sock"))


@pytest.fixture
def installed(tmp_path, bin, monkeypatch) -> Path:
    """An installed host with two agents, one of which runs."""
    monkeypatch.setenv("PATH", f"{bin}:{os.environ['PATH']}")
    monkeypatch.delenv("CULTURE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    system = tmp_path / "etc"
    system.mkdir()
    (system / "ircd.yaml").write_text("name: spark\n")
    (system / "agents.yaml").write_text(
        "agents: [{nick: spark-claude}, {nick: spark-stopped, agent: codex}, {nick: spark-failed}]\n"
    )
    monkeypatch.setattr(paths, "SYSTEM_CONFIG", system)
    monkeypatch.setattr(paths, "SYSTEM_RUNTIME", tmp_path / "run")
    monkeypatch.setattr(paths, "SYSTEM_STATE", tmp_path / "lib")
    return system


def test_a_bare_status_is_one_screen(installed, tmp_path, capsys):
    assert run(["status"]) == 0

    out, err = capsys.readouterr()
    head, *rows = out.splitlines()
    assert head == f"Culture {__version__}, configured in '{installed}'"
    assert rows[0] == "server: running: spark: 3 clients in 2 channels"
    assert rows[1] == "agents: 1 hung, 2 dead"
    assert re.fullmatch(rf"  disk: .+ free in '{tmp_path}'", rows[2])
    assert rows[3:] == [
        "failed: culture-prune.service",
        "",
        "NICK           BACKEND  STATE  SINCE  WAITING  TODAY  STATUS",
        f"spark-claude   claude   hung   -      -        -      {HUNG} '{tmp_path}/run/spark-claude.sock'",
        "spark-stopped  codex    dead   -      -        -      the service is stopped",
        "spark-failed   claude   dead   3 d    -        -      ending: backend 'claude': not logged in",
    ]
    assert err == "\nhint: culturectl status NICK; for all units: systemctl status 'culture-*'\n"


def test_a_bare_status_asks_systemctl_once(installed, bin, capsys):
    run(["status"])

    assert [line.split()[0] for line in (bin / "calls").read_text().splitlines()] == ["show"]


def test_a_file_that_is_wrong_is_on_the_screen(installed, capsys):
    (installed / "agents.yaml").write_text("agent: []\n")

    run(["status"])

    told = capsys.readouterr().out
    assert f"problem: {installed}/agents.yaml:1: unknown key 'agent'" in told
    assert "agents: none configured" in told


def test_a_server_that_does_not_run_is_3(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CULTURE_HOME", str(tmp_path))
    (tmp_path / "ircd.yaml").touch()

    assert run(["status", "-q"]) == 3
    assert "server: stopped\n" in capsys.readouterr().out


def test_a_full_disk_is_on_the_screen(small_disk, monkeypatch, capsys):
    monkeypatch.setenv("CULTURE_HOME", str(small_disk))
    (small_disk / "ircd.yaml").touch()
    with contextlib.suppress(OSError), (small_disk / "rest").open("wb", buffering=0) as rest:
        while True:
            rest.write(bytes(4096))

    run(["status"])

    assert f"  disk: full: 0 bytes free in '{small_disk}'\n" in capsys.readouterr().out


def test_without_any_configuration_it_is_told_what_to_type(tmp_path, monkeypatch):
    monkeypatch.setenv("CULTURE_HOME", str(tmp_path))
    monkeypatch.setattr(paths, "SYSTEM_CONFIG", tmp_path / "etc")

    with pytest.raises(NoInputError) as told:
        run(["status"])

    assert told.value.hint == "culturectl up, for a first try"


def test_a_stopped_agent_is_shown_by_systemctl_which_is_asked_once_before(installed, bin, tmp_path):
    socket = tmp_path / "run" / "spark-stopped.sock"
    socket.parent.mkdir()
    socket.touch()
    program = (
        "import sys\nfrom pathlib import Path\n"
        "from culture.config import paths\nfrom culture.ctl.main import run\n"
        f"paths.SYSTEM_RUNTIME = Path({str(socket.parent)!r}); sys.exit(run(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", program, "status", "spark-stopped", "--no-pager"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)

    assert done.returncode == 3
    assert (bin / "calls").read_text().splitlines() == [
        "is-active --quiet culture-agent@spark-stopped.service",
        "status --no-pager -- culture-agent@spark-stopped.service",
    ]


def test_list_agents_has_a_line_for_each_and_an_object_for_programs(installed, capsys):
    assert run(["list-agents"]) == 0
    assert run(["list-agents", "--json"]) == 0

    lines = capsys.readouterr().out.splitlines()
    first = [line.split()[0] for line in lines[:4]]
    assert first == ["NICK", "spark-claude", "spark-stopped", "spark-failed"]
    assert json.loads(lines[5]) == {
        "nick": "spark-stopped", "backend": "codex", "service": "stopped", "state": "dead", "since": None,
        "why": "the service is stopped", "status": "the service is stopped", "waiting": None,
        "cost_usd_today": None,
    }  # fmt: skip


def test_for_programs_it_is_json_or_nothing(bin):
    command = [sys.executable, "-m", "culture.ctl.main", "status", "--json"]
    env = {"PATH": f"{bin}:{os.environ['PATH']}"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=30, check=False)

    assert (done.returncode, done.stdout) == (64, "")


def test_an_agent_that_is_not_there_is_3_with_a_hint(tmp_path):
    command = [sys.executable, "-m", "culture.ctl.main", "status", "nosuch"]
    env = {**os.environ, "CULTURE_HOME": str(tmp_path)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=30, check=False)

    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("culturectl: no agent answers at ")
    assert "\nhint: is it running? systemctl status " in done.stderr


def test_a_screen_has_a_line_for_each_thing():
    spent = {"turns": 1, "input_tokens": 900, "cached_tokens": 800, "output_tokens": 40, "cost_usd": 0.02}
    screen = {
        "nick": "spark-claude", "backend": "claude", "status": "idle in #ops", "connected": False,
        "state": {"state": "idle", "since": "2026-11-18T12:00:00.000Z", "why": ""},
        "server": "127.0.0.1:6667", "channels": [], "queue": {"queued": 0, "answered": 2}, "turn": None,
        "asks": ["#ops", "spark-ori"], "session": "", "running": False, "directory": "/srv",
        "context": None, "today": spent, "total": {**spent, "turns": 3}, "last_error": "over\x1b[2Jloaded\n",
        "budgets": [
            {"scope": "agent", "name": "spark-claude", "limit_usd": 5.0, "spent_usd": 0.02, "held_usd": 1.0},
            {"scope": "host", "name": "spark", "limit_usd": 9.0, "spent_usd": 3.5, "held_usd": 0.0},
        ],
    }  # fmt: skip

    assert describe(screen) == [
        "spark-claude - claude agent",
        "     state: idle since 2026-11-18 12:00:00",
        "    status: idle in #ops",
        "    server: not connected to 127.0.0.1:6667",
        "  channels: none",
        "     queue: 0 queued, 2 answered",
        "      turn: none",
        " waits for: an answer in #ops, an answer of spark-ori",
        "   session: none yet, not running",
        " directory: /srv",
        "   context: not told",
        "     today: 0.0200 USD, 1 turn, 900 tokens in, 800 of them cached, 40 out",
        "  in total: 0.0200 USD, 3 turns, 900 tokens in, 800 of them cached, 40 out",
        "    budget: 0.02 of 5.00 USD of spark-claude today, 1.00 USD reserved",
        "    budget: 3.50 of 9.00 USD of all agents of spark today",
        "last error: over [2Jloaded",
    ]
