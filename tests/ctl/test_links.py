"""culturectl list-links, as it is typed."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

LINKED = {
    "host": "thor",
    "state": "linked",
    "since": 1700000000,
    "lag_ms": 0.4,
    "channels": None,
    "lacking_here": [],
    "lacking_there": ["spark", "orin"],
}
APART = {
    "host": "ec2",
    "state": "apart",
    "since": None,
    "lag_ms": None,
    "channels": ["#a", "#b"],
    "lacking_here": [],
    "lacking_there": [],
}


class Place:
    def __init__(self, directory: Path) -> None:
        self.config = directory / "ircd.yaml"
        self.config.write_text(
            f"state_dir: {directory}/state\nlinks: [{{name: thor, secret_credential: x}}]\n"
        )
        self.file = directory / "state" / "links.json"
        self.file.parent.mkdir()

    def type(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "culture.ctl.main", "list-links", *arguments]
        env = {**os.environ, "TZ": "UTC"}
        return subprocess.run(
            [*command, "--config", str(self.config)], capture_output=True, text=True, timeout=30, env=env
        )


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_links_are_told_in_columns(place: Place):
    place.file.write_text(json.dumps({"links": [LINKED, APART]}))
    assert place.type().stdout.splitlines() == [
        "HOST  STATE   SINCE                LAG     CHANNELS  LACKING HERE  LACKING THERE",
        "thor  linked  2023-11-14 22:13:20  0.4 ms  all       -             spark,orin",
        "ec2   apart   -                    -       #a,#b     -             -",
    ]


def test_programs_get_a_line_for_each(place: Place):
    place.file.write_text(json.dumps({"links": [LINKED, APART]}))
    assert [json.loads(line) for line in place.type("--json").stdout.splitlines()] == [LINKED, APART]


def test_a_server_that_does_not_run_knows_of_no_links(place: Place):
    done = place.type()
    assert (done.returncode, done.stderr.splitlines()) == (
        69,
        ["culturectl: the server is not running", "hint: systemctl start culture-ircd"],
    )
    place.file.write_text(json.dumps({"links": [LINKED]}))
    long_ago = time.time() - 60
    os.utime(place.file, (long_ago, long_ago))
    assert place.type().returncode == 69


def test_a_server_without_links_says_so(place: Place):
    place.config.write_text("")
    assert place.type().stderr == "no links are configured\n"
