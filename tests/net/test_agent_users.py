"""Which users of this machine are agents, and whose nick is whose."""

import logging
import os
from pathlib import Path

import pytest
from support.unix_users import AGENT_UID, OTHER_AGENT_UID, PASSWD, PERSON_UID, agent_users

from culture.config.agents import AgentUser, read_agent_users
from culture.errors import NoInputError
from culture.ircd.auth.agents import AgentNick


def test_a_user_is_the_agent_whose_nick_it_carries(tmp_path: Path):
    users = agent_users(tmp_path)
    assert users.agent_of(AGENT_UID) == "spark-claude"
    assert users.agent_of(OTHER_AGENT_UID) == "spark-codex"
    assert (users.agent_of(PERSON_UID), users.agent_of(61010), users.agent_of(None)) == (None, None, None)
    assert users.find("SPARK-claude") == AgentNick("spark-claude", frozenset({AGENT_UID}), True)
    assert users.find("spark-ori") is None
    assert [users.name_of(uid) for uid in (PERSON_UID, 4_000_000, None)] == ["ori", "4000000", ""]


@pytest.mark.parametrize(
    "name", ["culture-team", "culture-agent", "culture-thor-claude", "culture-", "culture-spark-", "spark-x"]
)
def test_a_name_that_only_looks_like_one_is_no_agent(tmp_path: Path, name: str):
    users = agent_users(tmp_path, passwd=f"{name}:x:7:7::/:/bin/sh\n")
    assert users.agent_of(7) is None
    assert not users.are_configured


def test_what_agents_yaml_names_need_not_carry_the_name_of_the_host(tmp_path: Path):
    users = agent_users(tmp_path, AgentUser("thor-claude"), passwd="culture-thor-claude:x:7:7::/:/bin/sh\n")
    assert users.agent_of(7) == "thor-claude"


def test_root_is_no_agent_and_of_two_names_for_a_user_the_first_counts(tmp_path: Path):
    passwd = (
        "culture-spark-a:x:0:0::/:/bin/sh\nori:x:7:7::/:/bin/sh\n"
        "culture-spark-b:x:7:7::/:/bin/sh\nbroken\nx:y:z\n"
    )
    users = agent_users(tmp_path, passwd=passwd)
    assert (users.agent_of(0), users.agent_of(7)) == (None, None)


def test_an_agent_that_runs_as_a_person_shares_the_nick_with_that_person(tmp_path: Path):
    """The person is not confined to it."""
    users = agent_users(tmp_path, AgentUser("spark-helper", "ori"), AgentUser("spark-lost", "gone"))
    assert users.agent_of(PERSON_UID) is None
    assert users.find("spark-helper") == AgentNick("spark-helper", frozenset({PERSON_UID}), False)
    assert users.find("spark-lost") == AgentNick("spark-lost", frozenset(), False)


def test_an_agent_without_a_user_of_its_own_is_who_runs_the_server_or_the_shared_user(tmp_path: Path):
    users = agent_users(tmp_path, AgentUser("spark-new"))
    assert users.find("spark-new") == AgentNick("spark-new", frozenset({0}), False)
    users = agent_users(tmp_path, AgentUser("spark-new"), passwd="culture-agent:x:9:9::/:/bin/sh\n")
    assert users.find("spark-new") == AgentNick("spark-new", frozenset({0, 9}), False)


def test_the_user_of_a_new_agent_counts_from_when_it_is_made(tmp_path: Path):
    users = agent_users(tmp_path, passwd="")
    assert not users.have_own_users
    (tmp_path / "new").write_text(PASSWD)
    os.replace(tmp_path / "new", tmp_path / "passwd")
    assert users.agent_of(AGENT_UID) == "spark-claude"
    (tmp_path / "passwd").unlink()
    assert users.agent_of(AGENT_UID) == "spark-claude"


def test_agents_yaml_is_read_for_nicks_and_users_whatever_else_is_wrong_in_it(tmp_path: Path):
    file = tmp_path / "agents.yaml"
    assert read_agent_users(file) == []
    file.write_text(
        "nonsense: 1\nagents:\n- {nick: spark-claude, modle: x}\n- {nick: spark-helper, user: ori}\n"
        "- {nick: 'no nick'}\n- 7\n- {nick: [1]}\n- {nick: spark-odd, user: 5}\n"
    )
    expected = [AgentUser("spark-claude"), AgentUser("spark-helper", "ori"), AgentUser("spark-odd")]
    assert read_agent_users(file) == expected
    file.write_text("agents: nothing\n")
    assert read_agent_users(file) == []
    file.write_text("agents: [\n")
    with pytest.raises(NoInputError, match="it is not YAML"):
        read_agent_users(file)


def test_a_file_that_cannot_be_read_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    (tmp_path / "agents.yaml").mkdir()
    users = agent_users(tmp_path, AgentUser("spark-new"), agents_file=tmp_path / "agents.yaml")
    assert users.find("spark-new") is not None
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


def test_an_agent_counts_from_the_moment_it_is_in_agents_yaml(tmp_path: Path):
    """Nobody has to reload the server before they start an agent that runs as a person."""
    file = tmp_path / "agents.yaml"
    passwd = f"{PASSWD}culture-spark-helper:x:61020:61020::/:/usr/sbin/nologin\n"
    users = agent_users(tmp_path, agents_file=file, passwd=passwd)
    assert users.find("spark-helper") == AgentNick("spark-helper", frozenset({61020}), True)

    file.write_text("agents: [{nick: spark-helper, user: ori}]\n")
    assert users.find("spark-helper") == AgentNick("spark-helper", frozenset({61020, PERSON_UID}), False)

    file.write_text("agents: [\n")
    assert users.find("spark-helper") == AgentNick("spark-helper", frozenset({61020, PERSON_UID}), False)

    file.unlink()
    assert users.find("spark-helper") == AgentNick("spark-helper", frozenset({61020}), True)
