"""The measurement itself works; what it measures depends on the machine."""

import json
import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "scripts" / "benchmarks"


def test_mentions_are_measured_beside_plain_delivery():
    command = [sys.executable, str(BENCHMARKS), "mention", "--count", "20", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)

    figures = json.loads(done.stdout)
    assert figures["count"] == 20
    for row in ("mention to send_prompt", "plain delivery, in the same run"):
        assert 0 < figures[row]["p50"] <= figures[row]["p99"] <= figures[row]["max"]
