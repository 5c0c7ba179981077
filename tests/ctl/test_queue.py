"""`culturectl queue` of agents that do not run and left nothing."""

import pytest

from culture.ctl.main import run
from culture.errors import ConfigError, UnavailableError


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("CULTURE_HOME", str(tmp_path))
    (tmp_path / "agents.yaml").write_text("agents: [{nick: spark-claude}]\n")
    return tmp_path


def test_a_mistyped_nick_is_told_as_that(home):
    with pytest.raises(ConfigError) as told:
        run(["queue", "spark-cluade"])

    [problem] = told.value.problems
    assert problem == (f"{home}/agents.yaml", "no agent 'spark-cluade'", "configured agents: spark-claude")


def test_one_that_is_configured_does_not_answer():
    with pytest.raises(UnavailableError, match="no agent answers at"):
        run(["queue", "spark-claude"])
