"""scripts/bench mesh measures what it says, also in little."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "scripts/benchmarks"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


def test_every_figure_is_there_and_nothing_was_lost():
    little = ("--count", "5", "--replay", "300", "--rate", "50", "--seconds", "1", "--json")
    done = subprocess.run(
        [sys.executable, BENCHMARKS, "mesh", *little], capture_output=True, text=True, timeout=170, check=True
    )
    figures = json.loads(done.stdout)
    assert figures["over three hops"]["p50"] > 0
    assert figures["replayed messages per second"] > 0
    assert figures["bytes on a link per message"] > figures["of which a client reads"]
    assert figures["lost or doubled"] == 0
