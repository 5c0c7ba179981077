"""What agents.yaml does not take, and what it says then."""

import pytest

from culture.config.agent.thinking import effort_of
from culture.config.agents import AgentsConfig
from culture.config.loader import parse
from culture.errors import ConfigError
from culture.names import agent_user


def problem(text: str) -> str:
    with pytest.raises(ConfigError) as raised:
        parse(text, AgentsConfig, where="agents.yaml")
    return str(raised.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "agents: [{nick: spark-123456789012345678}]",
            "'spark-123456789012345678' is longer than 23 letters",
        ),
        ("agents: [{nick: spark-claude, tags: ['a b']}]", "'a b' is not a name of letters, digits"),
        ("agents: [{nick: spark-claude, wake_on: ['@ops']}]", "'@ops' is not a name"),
        ("agents: [{nick: spark-claude, groups_from: agents}]", "expected one of people, everyone"),
        ("agents: [{nick: spark-claude, allow_from: ori}]", "expected a list, found 'ori'"),
        ("agents: [{nick: spark-claude, directory: ~/x}]", "'~/x' is not an absolute path"),
        ("agents: [{nick: spark-claude, directory: rel}]", "'rel' is not an absolute path"),
        (r'agents: [{nick: spark-claude, directory: "/x\nUser=root"}]', r"'/x\nUser=root' has control"),
        (r'agents: [{nick: spark-claude, writable: ["/x\nUser=root"]}]', r"'/x\nUser=root' has control"),
        (
            r'agents: [{nick: spark-claude, key_credential: "x\ny"}]',
            r"'x\ny' is not the name of a credential",
        ),
        ("agents: [{nick: spark-claude, account_credential: ../x}]", "'../x' is not the name of a cred"),
        ("server: {password_credential: 'a:b'}", "'a:b' is not the name of a credential"),
        ("turns: {stall_timeout_s: 0}", "must be at least 1, is 0"),
        ("turns: {crashes: 0}", "must be at least 1, is 0"),
        ("turns: {patience: 1}", "unknown key 'patience'"),
        ("people: [spark-ori]", "'spark-ori' is not account:NAME; a nick does not prove who somebody is"),
        ("people: ['account:']", "'account:' is not account:NAME"),
        ("server: {tls_ca: ca.pem}", "'ca.pem' is not an absolute path"),
        ("server: {host: 'unix:/run/culture/ircd.sock', tls: true}", "'tls' is for other machines"),
    ],
)
def test_a_mistake_is_told(text, said):
    assert said in problem(text)


def test_seconds_may_have_a_fraction():
    config = parse("turns: {restart_delay_s: 0.5}", AgentsConfig, where="agents.yaml")

    assert config.turns.restart_delay_s == 0.5


def test_the_longest_nick_has_a_user_that_linux_allows():
    config = parse("agents: [{nick: spark-12345678901234567}]", AgentsConfig, where="agents.yaml")

    assert len(agent_user(config.agents[0].nick)) == 31


def test_ultrathink_is_another_word_for_the_highest_effort():
    config = parse("agents: [{nick: spark-claude, thinking: ultrathink}]", AgentsConfig, where="agents.yaml")

    assert effort_of(config.agents[0].thinking) == "max"
