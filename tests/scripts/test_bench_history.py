"""scripts/bench history: every figure that is promised, from a small history."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "scripts/benchmarks"


@pytest.mark.slow
def test_all_figures_are_there(tmp_path: Path):
    command = [
        sys.executable,
        str(BENCHMARKS),
        "history",
        "--messages",
        "2000",
        "--at",
        str(tmp_path),
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    figures = json.loads(done.stdout)
    for part in (
        "fan-out",
        "append",
        "file",
        "index",
        "open",
        "RECENT",
        "CHATHISTORY",
        "SEARCH",
        "RSS",
        "bytes",
    ):
        assert any(name.startswith(part) for name in figures), part
    assert list(tmp_path.iterdir()) == []
