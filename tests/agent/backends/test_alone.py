"""A rehearsal in a network of its own, in which a name server listens to who asks for whom."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.backends import ROWS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(180),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root makes networks"),
]

TESTS = Path(__file__).parents[2]
TURN = "test_a_prompt_is_followed_by_what_the_agent_does_and_one_result"
ALONE = """
set -e
ip link set lo up
mount --bind "$1" /etc/resolv.conf
"$2" "$3" "$4" &
trap "kill $!" EXIT
until [ -s "$4" ]; do sleep 0.05; done
"$2" -m pytest -q -n 0 -p no:cacheprovider "$5"
"""


@pytest.mark.parametrize("name", ROWS)
def test_a_rehearsal_looks_for_nobody_outside(name, tmp_path):
    asked, resolver = tmp_path / "asked", tmp_path / "resolv.conf"
    resolver.write_text("nameserver 127.0.0.1\n")
    turn = f"{TESTS}/agent/backends/contract/test_turns.py::{TURN}[{name}]"
    words = [resolver, sys.executable, TESTS / "support" / "nameserver.py", asked, turn]

    alone = ["unshare", "--net", "--mount", "sh", "-c", ALONE, "sh", *map(str, words)]
    done = subprocess.run(alone, cwd=TESTS.parent, capture_output=True, text=True, timeout=150, check=False)

    assert done.returncode == 0, done.stdout
    assert asked.read_text() == "ready\n"
