"""The shell by which an agent's commands lose the key of its model."""

import subprocess
from pathlib import Path

import pytest

from culture.agent.backend.shell import make_shell

ENV = {"PATH": "/usr/bin:/bin", "KEY": "s3cret", "OTHER": "kept"}


@pytest.fixture
def shell(tmp_path: Path) -> dict[str, str]:
    make_shell(tmp_path, ["OLD"], ENV["PATH"])
    return make_shell(tmp_path, ["KEY", "TOKEN"], ENV["PATH"])


@pytest.mark.parametrize("options", [["-c"], ["-lc"]])
def test_what_it_runs_has_all_but_the_keys(shell: dict[str, str], options: list[str]):
    command = [shell["SHELL"], *options, 'echo "${KEY-none} $OTHER"']

    told = subprocess.run(command, env=ENV, capture_output=True, text=True, check=True).stdout

    assert told == "none kept\n"
    assert shell["CLAUDE_CODE_SHELL"] == shell["SHELL"]


def test_bash_itself_drops_them_too(shell: dict[str, str]):
    command = ["/bin/bash", "-c", 'echo "${KEY-none} $OTHER"']

    told = subprocess.run(command, env={**ENV, **shell}, capture_output=True, text=True, check=True).stdout

    assert told == "none kept\n"


def test_where_there_is_no_bash_or_no_key_nothing_is_changed(tmp_path: Path):
    assert make_shell(tmp_path, ["KEY"], str(tmp_path)) == {}
    assert make_shell(tmp_path, [], ENV["PATH"]) == {}
