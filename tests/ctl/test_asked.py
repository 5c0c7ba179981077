"""Verbs that ask an agent, and find nobody."""

import pytest

from culture.ctl import agent_call
from culture.ctl.main import run
from culture.errors import ConfigError, UnavailableError


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("CULTURE_HOME", str(tmp_path))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    (tmp_path / "agents.yaml").write_text("agents: [{nick: spark-claude}]\n")
    return tmp_path


@pytest.mark.parametrize("verb", ["pause", "queue", "resume", "status"])
def test_a_mistyped_nick_is_told_as_that(home, verb):
    with pytest.raises(ConfigError) as told:
        run([verb, "spark-cluade"])

    [problem] = told.value.problems
    assert problem == (
        f"{home}/agents.yaml",
        "no agent 'spark-cluade'",
        "did you mean 'spark-claude'? configured agents: spark-claude",
    )


@pytest.mark.parametrize("verb", ["pause", "queue", "resume"])
@pytest.mark.parametrize("nick", ["spark-claude", "Spark-Claude"])
def test_of_one_that_does_not_run_it_is_told_what_starts_it(verb, nick):
    with pytest.raises(UnavailableError, match=r"^spark-claude is not running$") as told:
        run([verb, nick])

    assert told.value.hint == "culturectl up"


def test_the_status_of_one_that_does_not_run_is_3(capsys):
    assert run(["status", "spark-claude"]) == 3
    assert capsys.readouterr() == ("", "culturectl: spark-claude is not running\nhint: culturectl up\n")


def test_a_service_is_started_by_systemd(home, monkeypatch):
    monkeypatch.setattr("culture.config.paths.SYSTEM_CONFIG", home)
    monkeypatch.setenv("CULTURE_HOME", str(home / "none"))

    with pytest.raises(UnavailableError) as told:
        run(["pause", "spark-claude"])

    assert told.value.hint == f"systemctl start {agent_call.unit_of('spark-claude')}"


def test_without_a_configuration_it_is_told_that_nobody_answers(home):
    (home / "agents.yaml").unlink()

    with pytest.raises(UnavailableError, match=r"^no agent answers at "):
        run(["queue", "spark-claude"])
