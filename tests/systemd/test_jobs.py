"""Asking systemd what is to become of a unit, with a systemctl that answers as told."""

from collections.abc import Callable
from pathlib import Path

import pytest

from culture.systemd.jobs import is_stopped_for_good

UNIT = "culture-ircd.service"
Systemctl = Callable[[str], object]


@pytest.fixture
def systemctl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Systemctl:
    """Makes it do what a script says."""
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    program = tmp_path / "systemctl"
    program.touch(mode=0o755)
    return lambda script: program.write_text(f"#!/bin/sh\n{script}\n")


@pytest.mark.parametrize(
    ("jobs", "is_for_good"),
    [
        (f"312 {UNIT} stop running", True),
        (f"312 {UNIT} restart running", False),
        (f"312 {UNIT} start waiting", False),
        ("313 culture-ircd.socket stop running", False),
        ("", False),
    ],
)
async def test_only_a_job_that_stops_it_is_the_end(systemctl: Systemctl, jobs: str, is_for_good: bool):
    systemctl(f"echo '{jobs}'")
    assert await is_stopped_for_good(UNIT) is is_for_good


async def test_it_is_asked_again_when_there_is_no_bus_for_a_moment(systemctl: Systemctl, tmp_path: Path):
    marker = tmp_path / "asked"
    systemctl(f"if [ -e {marker} ]; then echo '7 {UNIT} stop running'; else : > {marker}; exit 1; fi")
    assert await is_stopped_for_good(UNIT) is True


async def test_a_manager_that_does_not_answer_has_said_nothing(systemctl: Systemctl):
    systemctl("exec sleep 60")
    assert await is_stopped_for_good(UNIT) is None


async def test_where_there_is_no_manager_nobody_can_be_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert await is_stopped_for_good(UNIT) is None
