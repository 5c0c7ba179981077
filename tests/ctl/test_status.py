"""`culturectl status` where systemd runs the agents: what does not run is systemctl's to tell."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from culture.config.paths import SYSTEM_RUNTIME
from culture.ctl.asked import is_stopped_unit
from culture.ctl.status import describe

SYSTEMCTL = """#!/bin/sh
# Says what it was asked, and that everything called *stopped* is.
echo "systemctl $*"
case "$*" in *is-active*stopped*|*status*stopped*) exit 3 ;; esac
"""


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


def test_everything_together_is_shown_by_systemctl(bin):
    command = [sys.executable, "-m", "culture.ctl.main", "status"]
    env = {"PATH": f"{bin}:{os.environ['PATH']}"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=30, check=False)

    assert (done.returncode, done.stdout) == (0, "systemctl status -- culture-*\n")


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
        "server": "127.0.0.1:6667", "channels": [], "queue": {"queued": 0, "answered": 2}, "turn": None,
        "asks": ["#ops", "spark-ori"], "session": "", "running": False, "directory": "/srv",
        "context": None, "today": spent, "total": {**spent, "turns": 3}, "last_error": "over\x1b[2Jloaded\n",
    }  # fmt: skip

    assert describe(screen) == [
        "spark-claude - claude agent",
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
        "last error: over [2Jloaded",
    ]
