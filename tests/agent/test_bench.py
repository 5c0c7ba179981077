"""The measurement itself works; what it measures depends on the machine."""

import json
import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "scripts" / "benchmarks"


def test_a_supervisor_costs_little_and_nothing_while_its_agent_is_idle():
    options = ["--agents", "2", "--steps", "25", "--idle-s", "0.2", "--json"]
    command = [sys.executable, str(BENCHMARKS), "control", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)

    figures = json.loads(done.stdout)
    assert (figures["agents"], figures["model calls while idle"]) == (2, 0)
    assert figures["evaluations"] >= 1
    assert 0 < figures["share of the supervisor, %"] <= 5


def test_daemons_are_started_mentioned_and_left_alone():
    options = ["--agents", "2", "--count", "10", "--idle-s", "0.2", "--json"]
    command = [sys.executable, str(BENCHMARKS), "agent", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)

    figures = json.loads(done.stdout)
    assert (figures["daemons"], figures["prompts while idle"]) == (2, 0)
    for row in ("start to ready", "mention to prompt", "the same line to a plain client"):
        assert 0 < figures[row]["p50"] <= figures[row]["p99"] <= figures[row]["max"]
