"""culturectl as a user who may not read the server's files."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from culture.store.accounts import FILE, Accounts
from culture.store.history.archive import DIRECTORY, Archive

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
NOBODY = 65534


@pytest.fixture
def config() -> Iterator[Path]:
    """Where everybody can read it, as in /etc; what is beside it is the server's."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        directory.chmod(0o755)
        state = directory / "state"
        Archive(state / DIRECTORY).close()
        Accounts(state / FILE)
        state.chmod(0o700)
        config = directory / "ircd.yaml"
        config.write_text(f"state_dir: {state}\n")
        config.chmod(0o644)
        yield config


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("history check", "history/history.db' is not yours"),
        ("history export", "history/history.db' is not yours"),
        ("prune", "history/history.db' is not yours"),
        ("accounts list", "accounts.db': Permission denied"),
    ],
)
def test_what_is_not_theirs_is_told_with_what_to_type(config: Path, typed: str, told: str):
    command = [sys.executable, "-m", "culture.ctl.main", *typed.split(), "--config", str(config)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, user=NOBODY, check=False)
    assert done.returncode == 77
    assert done.stderr.endswith(f"{told}\nhint: sudo !!\n")
