"""culturectl as a user who may not read the server's files."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.nobody import as_nobody

from culture.ctl.up.home import open_home
from culture.store.accounts import FILE, Accounts
from culture.store.history.archive import DIRECTORY, Archive

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")


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


def culturectl(*typed: str) -> "subprocess.CompletedProcess[str]":
    command = as_nobody("culture.ctl.main", *typed)
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("history check", "history/history.db' cannot be read"),
        ("history export", "history/history.db' cannot be read"),
        ("prune", "history/history.db' cannot be read"),
        ("accounts list", "accounts.db': Permission denied"),
    ],
)
def test_what_is_not_theirs_is_told_with_what_to_type(config: Path, typed: str, told: str):
    done = culturectl(*typed.split(), "--config", str(config))
    assert done.returncode == 77
    assert done.stderr.endswith(f"{told}\nhint: sudo !!\n")


def test_units_are_roots_to_write(config: Path):
    agents = config.with_name("agents.yaml")
    agents.write_text("agents: [{nick: spark-claude, memory_max: 1G}]\n")
    done = culturectl("units", "--root", str(config.parent), "--config", str(agents))
    assert (done.returncode, done.stderr) == (
        77,
        f"culturectl: cannot write '{config.parent}/etc': Permission denied\nhint: sudo !!\n",
    )


def test_the_home_of_another_is_not_upped(config: Path):
    home, _ = open_home(config.parent)
    done = culturectl("up", "--home", str(home.path))
    assert done.returncode == 77
    assert done.stderr.endswith("run/lock': Permission denied\nhint: choose another directory: --home DIR\n")


def test_a_configuration_that_may_not_be_read_is_told_as_that(config: Path):
    config.chmod(0o600)
    done = culturectl("accounts", "list", "--config", str(config))
    assert (done.returncode, done.stderr) == (
        77,
        f"culturectl: '{config}' may not be read\nhint: ls -l {config}\n",
    )
