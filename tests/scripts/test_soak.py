"""scripts/soak: people come and go, and whoever stays misses nothing."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "scripts/benchmarks"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not installed"),
]


def soak(home: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, BENCHMARKS / "soak.py", *options],
        env={**os.environ, "XDG_CACHE_HOME": str(home / "cache"), "TMPDIR": str(home)},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


def test_nothing_is_missing_while_people_come_and_go(tmp_path: Path):
    done = soak(tmp_path, "--minutes", "0.05", "--clients", "20", "--channels", "5", "--visitors", "5")

    assert done.returncode == 0, done.stdout + done.stderr
    said, visits, memory = done.stdout.splitlines()
    assert re.fullmatch(r"[1-9]\d* messages, [1-9]\d* deliveries: none is missing", said)
    assert int(visits.split()[0]) > 5
    assert memory.endswith(": flat")


def test_a_channel_of_one_is_none(tmp_path: Path):
    done = soak(tmp_path, "--clients", "5", "--channels", "5")

    assert done.returncode == 1
    assert done.stderr.startswith("scripts/soak: a channel needs two clients\nhint: ")


@pytest.mark.parametrize(
    ("samples", "verdict"),
    [
        ("[30000 + 30 * i for i in range(600)]", "False"),
        ("[30000] * 100 + [60000] * 500", "True"),
        ("[60000 + 500 * (i % 7) for i in range(600)]", "True"),
        ("[]", "True"),
    ],
    ids=["growing", "once", "up and down", "too short to tell"],
)
def test_memory_is_flat_when_it_does_not_grow_after_the_warm_up(samples: str, verdict: str):
    command = [sys.executable, "-c", f"import soak; print(soak.is_flat({samples}))"]
    done = subprocess.run(command, cwd=BENCHMARKS, capture_output=True, text=True, timeout=20, check=True)

    assert done.stdout.strip() == verdict
