"""The layers hold, the cores do no I/O, and the linters are content."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent


@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    "command",
    [["lint-imports", "--no-cache"], ["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"]],
    ids=" ".join,
)
def test_checks_are_clean(command: list[str]):
    done = subprocess.run(
        [str(BIN / command[0]), *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_modules_stay_small_and_say_what_lives_there():
    for path in (ROOT / "culture").rglob("*.py"):
        text = path.read_text()
        assert len(text.splitlines()) <= 400, f"{path} is longer than 400 lines"
        assert not text or text.startswith('"""'), f"{path} does not say what lives there"
