"""What an agent is told and what it finds around it."""

from pathlib import Path

import pytest

from culture.agent.backend.briefing import SKILL, briefing
from culture.agent.backend.environment import (
    drop_private_variables,
    irc_directory,
    session_environment,
    working_directory,
)
from culture.agent.skill.irc import VERBS
from culture.errors import ConfigError, NotAllowedError, UnavailableError


def test_the_briefing_says_who_where_and_how():
    told = briefing("spark-claude", "127.0.0.1:6667", ["#general"], "Be brief.\n", SKILL.read_text())

    assert told.startswith("You are spark-claude, an agent on the host 'spark', connected to the IRC server")
    assert "irc send '#channel' 'text'" in told
    assert "description:" not in told
    assert told.endswith("\n\nBe brief.\n")


def test_the_skill_documents_the_verbs_that_an_agent_needs():
    documented = SKILL.read_text()

    assert all(f"irc {verb}" in documented for verb in VERBS.keys() - {"status"})


def test_the_session_finds_its_skill_and_its_socket():
    env = session_environment(
        "spark-claude",
        Path("/run/x.sock"),
        Path("/venv/bin"),
        {"ANTHROPIC_API_KEY": ""},
        {"PATH": "/usr/bin"},
        "proof",
    )

    assert env == {
        "CULTURE_NICK": "spark-claude",
        "CULTURE_WHISPERS": "proof",
        "CULTURE_SOCKET": "/run/x.sock",
        "PATH": "/venv/bin:/usr/bin",
    }


def test_a_key_is_given_to_the_session_alone():
    env = session_environment("spark-claude", Path("/s"), Path("/b"), {"CLINE_API_KEY": "sk-1"}, {}, "proof")

    assert env["CLINE_API_KEY"] == "sk-1"


def test_what_the_manager_told_us_stays_with_us():
    env = {"NOTIFY_SOCKET": "/run/n", "CREDENTIALS_DIRECTORY": "/run/c", "IS_SANDBOX": "1", "HOME": "/root"}

    drop_private_variables(env)

    assert env == {"HOME": "/root"}


def _program(directory: Path) -> Path:
    directory.mkdir(parents=True)
    (directory / "irc").write_text("#!/bin/sh\n")
    (directory / "irc").chmod(0o755)
    return directory


def test_the_irc_program_of_a_virtual_environment_comes_first(tmp_path):
    environment, system = _program(tmp_path / "venv" / "bin"), _program(tmp_path / "lib")
    (tmp_path / "venv" / "pyvenv.cfg").touch()

    assert irc_directory(environment / "python", Path("/usr/bin/culture-agent"), system) == environment


def test_the_irc_program_of_the_package_comes_before_one_beside_us(tmp_path):
    system, beside = _program(tmp_path / "lib"), _program(tmp_path / "usr" / "bin")

    assert irc_directory(Path("/usr/bin/python3"), beside / "culture-agent", system) == system


def test_without_an_irc_program_there_is_no_agent(tmp_path):
    with pytest.raises(UnavailableError, match="'irc' is not installed"):
        irc_directory(Path("/usr/bin/python3"), tmp_path / "culture-agent", tmp_path / "lib")


def test_work_has_a_directory_of_its_own(tmp_path):
    by_unit = working_directory("", "spark-claude", {"STATE_DIRECTORY": str(tmp_path / "unit")})
    by_person = working_directory("", "spark-claude", {"CULTURE_HOME": str(tmp_path / "home")})

    assert by_unit == tmp_path / "unit" / "work"
    assert by_person == tmp_path / "home" / "state" / "agents" / "spark-claude" / "work"
    assert by_unit.is_dir()
    assert by_person.is_dir()
    assert working_directory(str(tmp_path), "spark-claude", {}) == tmp_path


def test_a_directory_that_is_configured_has_to_be_there(tmp_path):
    with pytest.raises(ConfigError, match=r"directory '.*/none' of agent 'spark-claude' is not there"):
        working_directory(str(tmp_path / "none"), "spark-claude", {})


def test_a_directory_that_cannot_be_made_is_said(tmp_path):
    (tmp_path / "file").touch()

    with pytest.raises(NotAllowedError, match="Not a directory"):
        working_directory("", "spark-claude", {"STATE_DIRECTORY": str(tmp_path / "file")})
