"""Which files are meant: those of the installation, or those in a person's home."""

import os
from pathlib import Path

import pytest

from culture.config import paths


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """An installed host on which `culturectl up` was run once: files in /etc and in the home."""
    system, home = tmp_path / "etc", tmp_path / "home"
    monkeypatch.setattr(paths, "SYSTEM_CONFIG", system)
    monkeypatch.setattr(paths, "SYSTEM_RUNTIME", tmp_path / "run")
    for directory in (system, home / ".culture"):
        directory.mkdir(parents=True)
        for name in ("ircd.yaml", "agents.yaml"):
            (directory / name).touch()
    return system, home


def be(uid: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: uid)


def test_root_means_the_installation_also_after_up_was_run(places, monkeypatch):
    system, home = places
    be(0, monkeypatch)
    (home / ".culture" / "run").mkdir()
    (home / ".culture" / "run" / "spark-claude.sock").touch()

    assert paths.config_file("agents.yaml", {"HOME": str(home)}) == system / "agents.yaml"
    socket = paths.agent_socket("spark-claude", {"HOME": str(home)})
    assert socket == paths.SYSTEM_RUNTIME / "spark-claude.sock"


def test_root_means_the_installation_also_where_one_of_its_files_is_missing(places, monkeypatch):
    system, home = places
    be(0, monkeypatch)
    (system / "agents.yaml").unlink()

    assert paths.config_file("agents.yaml", {"HOME": str(home)}) == system / "agents.yaml"


def test_root_can_name_another_home(places, monkeypatch):
    _, home = places
    be(0, monkeypatch)
    env = {"HOME": str(home), "CULTURE_HOME": str(home / ".culture")}

    assert paths.config_file("ircd.yaml", env) == home / ".culture" / "ircd.yaml"


def test_others_mean_their_own_files_where_there_are_any(places, monkeypatch):
    system, home = places
    be(1000, monkeypatch)

    assert paths.config_file("ircd.yaml", {"HOME": str(home)}) == home / ".culture" / "ircd.yaml"
    assert paths.config_file("ircd.yaml", {"HOME": "/nonexistent"}) == system / "ircd.yaml"


def test_root_means_its_own_files_where_nothing_is_installed(places, monkeypatch):
    system, home = places
    be(0, monkeypatch)
    for file in system.iterdir():
        file.unlink()

    assert paths.config_file("ircd.yaml", {"HOME": str(home)}) == home / ".culture" / "ircd.yaml"
