"""scripts/clis with an npm of our own: what it fetches, once, and what it says when it cannot."""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "clis"
# `npm install --prefix DIRECTORY … PACKAGE`, which keeps count.
NPM = """#!/bin/sh
for package; do :; done
echo "$package" >>"$FETCHED"
mkdir -p "$3/node_modules/.bin"
"""


@pytest.fixture
def run(tmp_path):
    def with_npm(npm: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        program = tmp_path / "bin" / "npm"
        program.parent.mkdir(exist_ok=True)
        program.write_text(npm)
        program.chmod(0o755)
        env = {
            "PATH": f"{program.parent}:{os.environ['PATH']}",
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
            "FETCHED": str(tmp_path / "fetched"),
        }
        return subprocess.run(
            [SCRIPT, *arguments], env=env, capture_output=True, text=True, timeout=60, check=False
        )

    return with_npm


def test_each_program_is_fetched_once(run, tmp_path):
    first, second = run(NPM), run(NPM)

    assert (first.returncode, second.returncode) == (0, 0)
    assert first.stdout == second.stdout == run(NPM, "--where").stdout
    places = first.stdout.strip().split(":")
    assert all(Path(place).is_dir() for place in places)
    fetched = (tmp_path / "fetched").read_text().split()
    assert len(fetched) == len(set(fetched)) == len(places)
    assert second.stderr == ""


def test_each_program_has_one_version(run):
    places = run(NPM, "--where").stdout.strip().split(":")

    assert all(place.split("/")[-3].rpartition("@")[2].count(".") == 2 for place in places)
    assert not any(Path(place).exists() for place in places)


def test_what_cannot_be_fetched_is_said_and_leaves_nothing(run, tmp_path):
    done = run("#!/bin/sh\nexit 1\n")

    assert done.returncode == 69
    assert "could not install" in done.stderr
    assert "\nhint: check the network" in done.stderr
    assert list((tmp_path / "cache" / "culture" / "npm").iterdir()) == []
