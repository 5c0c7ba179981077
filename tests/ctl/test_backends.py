"""`culturectl backends`, with programs as npm installs them."""

import json
from pathlib import Path

import pytest

from culture.agent.backends.programs import WANTED, RequiredProgram, find, how_to_install
from culture.agent.backends.table import BACKENDS
from culture.ctl.main import run


@pytest.fixture
def installed(tmp_path) -> Path:
    """A directory for PATH with cline in it, the way of npm, and a copilot that tells its version itself."""
    program = tmp_path / "lib" / "node_modules" / "cline" / "bin" / "cline"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\ntouch started\n")
    program.chmod(0o755)
    (program.parents[1] / "package.json").write_text('{"name": "cline", "version": "3.0.65"}')
    place = tmp_path / "bin"
    place.mkdir()
    (place / "cline").symlink_to(program)
    (place / "copilot").write_text("#!/bin/sh\necho 'GitHub Copilot CLI 1.0.102 (x64)'\n")
    (place / "copilot").chmod(0o755)
    return place


def test_every_backend_has_a_program_and_a_way_to_get_it():
    assert {wanted.agent for wanted in WANTED} == set(BACKENDS)
    assert all(wanted.install for wanted in WANTED)


def test_what_is_here_is_shown_with_version_and_place_and_what_is_not_with_a_command(
    installed, monkeypatch, capsys
):
    monkeypatch.setenv("PATH", str(installed))

    assert run(["backends"]) == 0

    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["AGENT", "PROGRAM", "VERSION", "WHERE"]
    rows = {line.split()[1]: line.split(maxsplit=3) for line in lines}
    assert rows["cline"] == ["acp", "cline", "3.0.65", f"{installed}/cline"]
    assert rows["copilot"] == ["copilot", "copilot", "1.0.102", f"{installed}/copilot"]
    assert rows["opencode"] == ["acp", "opencode", "-", "not installed: npm install -g opencode-ai@latest"]


def test_programs_get_a_line_of_json_for_each(installed, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(installed))

    run(["backends", "--json"])

    rows = {row["program"]: row for row in map(json.loads, capsys.readouterr().out.splitlines())}
    assert rows["cline"]["path"] == f"{installed}/cline"
    assert rows["opencode"] == {
        "agent": "acp",
        "program": "opencode",
        "path": None,
        "version": None,
        "install": "npm install -g opencode-ai@latest",
    }


def test_a_program_of_npm_is_not_started_to_learn_its_version(installed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert find(RequiredProgram("acp", "cline", ""), str(installed)).version == "3.0.65"

    assert not (tmp_path / "started").exists()


def test_claude_is_the_one_that_its_sdk_brings(tmp_path):
    bundled = tmp_path / "claude_agent_sdk" / "_bundled" / "claude"
    bundled.parent.mkdir(parents=True)
    bundled.write_text("#!/bin/sh\necho '2.1.325 (Claude Code)'\n")
    bundled.chmod(0o755)

    found = find(RequiredProgram("claude", "claude", ""), "", [tmp_path])

    assert (found.path, found.version) == (bundled, "2.1.325")


def test_with_its_sdk_and_no_program_claude_lacks_the_program(tmp_path):
    [claude] = (wanted for wanted in WANTED if wanted.agent == "claude")
    (tmp_path / "claude_agent_sdk").mkdir()

    assert find(claude, "", [tmp_path]) is None
    assert how_to_install(claude, [tmp_path]) == "npm install -g @anthropic-ai/claude-code"


def test_without_its_sdk_claude_lacks_that_first(monkeypatch):
    [claude] = (wanted for wanted in WANTED if wanted.agent == "claude")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    assert how_to_install(claude).startswith("apt install culture-claude")


def test_a_program_that_does_not_tell_its_version_is_there_all_the_same(tmp_path):
    program = tmp_path / "codex"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)

    assert find(RequiredProgram("codex", "codex", ""), str(tmp_path)).version == ""
