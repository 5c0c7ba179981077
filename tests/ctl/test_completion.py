"""Shells complete what the parsers of culturectl accept."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from culture.ctl import main
from culture.ctl.completion.description import describe_verbs
from culture.ctl.main import VERBS

BIN = Path(sys.executable).parent


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main.run(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("shell", ["bash", "fish", "zsh"])
def test_every_verb_and_option_is_in_the_script(shell: str, capsys: pytest.CaptureFixture[str]):
    text = script(shell, capsys)

    for verb in describe_verbs():
        lines = [line for line in text.splitlines() if verb.name in line]
        for option in verb.options:
            for name in option.names:
                said = f"-l {name[2:]}" if shell == "fish" and name.startswith("--") else name
                said = f"-s {name[1:]}" if shell == "fish" and not name.startswith("--") else said
                assert any(said in line for line in lines), (verb.name, name)


@pytest.mark.parametrize("shell", ["bash", "fish", "zsh"])
def test_the_script_is_valid(shell: str, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    file = tmp_path / "script"
    file.write_text(script(shell, capsys))

    subprocess.run([shell, "-n", str(file)], check=True, timeout=30)


def complete(tmp_path: Path, capsys: pytest.CaptureFixture[str], *words: str) -> set[str]:
    """What bash offers for the last word."""
    file = tmp_path / "script"
    file.write_text(script("bash", capsys))
    typed = " ".join(f"'{word}'" for word in ("culturectl", *words))
    commands = f"source {file}; COMP_WORDS=({typed}); COMP_CWORD={len(words)}; _culturectl; "
    done = subprocess.run(
        ["bash", "-c", commands + 'printf "%s\\n" "${COMPREPLY[@]}"'],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "CULTURE_HOME": str(tmp_path)},
    )
    return set(done.stdout.split())


def test_bash_offers_verbs_then_options_then_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert complete(tmp_path, capsys, "") >= set(VERBS)
    assert complete(tmp_path, capsys, "list-") >= {"list-agents", "list-hosts", "list-links"}
    assert "--confirm-within" in complete(tmp_path, capsys, "--quiet", "apply", "--")
    assert complete(tmp_path, capsys, "completion", "") == {"bash", "fish", "zsh"}
    (tmp_path / "fleet.yaml").write_text("hosts: [{name: spark}]\n")
    assert "fleet.yaml" in complete(tmp_path, capsys, "check", "--fleet", "fl")


def test_bash_offers_the_nicks_of_agents_and_the_names_of_hosts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "agents.yaml").write_text("agents: [{nick: spark-claude}, {nick: spark-codex}]\n")
    (tmp_path / "fleet.yaml").write_text("mesh: full\nhosts: [{name: spark, address: 'a:1'}, {name: thor}]\n")

    assert complete(tmp_path, capsys, "status", "spark-co") == {"spark-codex"}
    assert complete(tmp_path, capsys, "deploy", "t") == {"thor"}
