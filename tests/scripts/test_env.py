"""scripts/env in a copy of the tree: what it says when it cannot go on, and how it mends what is broken."""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PYTHON = Path(sys.base_prefix, "bin", "python3")
NO_NETWORK = {
    "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
    "PIP_CONFIG_FILE": "/dev/null",
    "PIP_EXTRA_INDEX_URL": "",
    "PIP_FIND_LINKS": "",
    "PIP_RETRIES": "0",
}


def copy_tree(tree: Path) -> Path:
    """As much of the project as scripts/env looks at."""
    for name in ("scripts/env", "culture/__init__.py"):
        (tree / name).parent.mkdir(parents=True)
        shutil.copy(ROOT / name, tree / name)
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, tree / name)
    return tree


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return copy_tree(tmp_path / "a tree")


@pytest.fixture
def no_venv(tmp_path: Path) -> str:
    """The same Python, except that it makes no venv: the test ends there, and quickly."""
    python = tmp_path / "python3"
    python.write_text(
        f'#!/bin/sh\n[ "$2" != venv ] || {{ echo no space left >&2; exit 1; }}\nexec {PYTHON} "$@"\n'
    )
    python.chmod(0o755)
    return str(python)


def run_env(tree: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    # Only what a bare machine has: no HOME, and the PATH that a shell assumes.
    return subprocess.run(
        [tree / "scripts" / "env", *arguments],
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_missing_interpreter_is_one_line_and_a_hint(tree):
    done = run_env(tree, CULTURE_PYTHON="/nowhere/python3")

    assert done.returncode == 69
    assert done.stderr.splitlines() == [
        "scripts/env: there is no Python 3.11 or newer",
        "hint: apt install python3 (Debian 12 and Ubuntu 24.04 have 3.11 and 3.12)",
    ]


def test_no_network_is_one_line_and_a_hint_and_a_venv_lasts_while_it_is_whole(tree, no_venv):
    done = run_env(tree, "rehearsal", **NO_NETWORK)

    assert done.returncode == 69
    assert done.stderr.splitlines()[-2:] == [
        "scripts/env: the Python package index cannot be reached",
        "hint: check the network (and PIP_INDEX_URL, if set), then try again",
    ]
    assert "making .venv" in done.stderr

    assert "making .venv" not in run_env(tree, **NO_NETWORK).stderr

    moved = tree.with_name("elsewhere")
    shutil.copytree(tree, moved, symlinks=True)
    assert "making .venv" in run_env(moved, CULTURE_PYTHON=no_venv, **NO_NETWORK).stderr

    # Left by a run that was killed half-way.
    (tree / ".venv" / "unfinished").touch()
    assert "making .venv" in run_env(tree, CULTURE_PYTHON=no_venv, **NO_NETWORK).stderr


def test_a_venv_that_cannot_be_made_is_told_with_the_reason(tree, no_venv):
    done = run_env(tree, CULTURE_PYTHON=no_venv)

    assert done.returncode == 69
    assert done.stderr.splitlines()[1:] == [
        "scripts/env: could not make .venv: no space left",
        "hint: apt install python3-venv, then try again",
    ]


def test_the_second_of_two_waits_for_the_first(tree):
    with (tree / "scripts" / "env").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        second = subprocess.Popen(
            [tree / "scripts" / "env"],
            env={"CULTURE_PYTHON": "/nowhere/python3"},
            stderr=subprocess.PIPE,
            text=True,
        )
        assert second.stderr is not None
        assert second.stderr.readline() == "scripts/env: waiting for another scripts/env to finish\n"
    _, rest = second.communicate(timeout=30)
    assert "there is no Python" in rest


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user to try it without root")
def test_without_root_a_missing_package_is_named_with_what_to_type():
    with tempfile.TemporaryDirectory() as place:
        # Not below pytest's own directory, which is for root alone.
        Path(place).chmod(0o755)
        script = copy_tree(Path(place, "tree")) / "scripts" / "env"
        done = subprocess.run(
            ["setpriv", "--reuid=65534", "--clear-groups", script, "--packages", "no-such-package"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    assert done.returncode == 77
    assert done.stderr.splitlines() == [
        "scripts/env: missing system packages: no-such-package",
        "hint: sudo apt-get install no-such-package",
    ]
