import shutil
import subprocess
from pathlib import Path

import pytest
from support.requirement import unable

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted(
    path
    for path in [*(ROOT / "scripts").iterdir(), ROOT / ".ci" / "run"]
    if path.is_file() and b"bash" in path.read_bytes().partition(b"\n")[0]
)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_shellcheck_finds_nothing(script):
    if shutil.which("shellcheck") is None:
        unable("shellcheck is not installed")

    done = subprocess.run(["shellcheck", script], capture_output=True, text=True, check=False)

    assert done.stdout == ""
    assert script.stat().st_mode & 0o111 == 0o111
