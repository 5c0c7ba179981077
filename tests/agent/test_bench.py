"""The measurement itself works; what it measures depends on the machine."""

import json
import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "scripts" / "benchmarks"


def test_daemons_are_started_mentioned_and_left_alone():
    options = ["--agents", "2", "--count", "10", "--idle-s", "0.2", "--json"]
    command = [sys.executable, str(BENCHMARKS), "agent", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)

    figures = json.loads(done.stdout)
    assert (figures["daemons"], figures["prompts while idle"]) == (2, 0)
    for row in ("start to ready", "mention to prompt", "the same line to a plain client"):
        assert 0 < figures[row]["p50"] <= figures[row]["p99"] <= figures[row]["max"]
