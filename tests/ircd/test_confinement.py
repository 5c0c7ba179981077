"""An agent whose Unix user is known is itself and nobody else, and nobody else is it."""

import base64
import json
from pathlib import Path

import pytest
from support.accounts import PASSWORD, accounts_in, log_in
from support.network import Client, Network

from culture.config.ircd import AccountsConfig, Limits, OperConfig
from culture.ircd.auth.agents import AgentNick
from culture.ircd.auth.proof import Proof
from culture.ircd.commands.session.authentication import log_in as core_log_in
from culture.ircd.restart.snapshot import restore_session, session_values
from culture.net.auth.accounts import StoredAccounts

OWN, SHARED = 7, 9
OPERS = (OperConfig("root", password_credential="root"), OperConfig("claude", account="spark-claude"))


class Agents:
    """spark-claude has a Unix user of its own, spark-helper runs as a person."""

    def __init__(self) -> None:
        self.known = {
            "spark-claude": AgentNick("spark-claude", frozenset({OWN}), True),
            "spark-helper": AgentNick("spark-helper", frozenset({SHARED}), False),
        }

    def find(self, nick: str) -> AgentNick | None:
        return self.known.get(nick.lower())

    def runs_as(self, uid: int) -> bool:
        return uid in (OWN, SHARED)


@pytest.fixture
def network(tmp_path: Path) -> Network:
    accounts = accounts_in(tmp_path, "ori", "spark-claude", "spark-helper")
    return Network(
        authenticator=StoredAccounts(accounts),
        agents=Agents(),
        opers=OPERS,
        oper_passwords={"root": "sesame"},
        accounts=AccountsConfig(registration=True),
    )


def arrive(network: Network) -> Client:
    """The agent, as the driver lets it in: it has said nothing yet."""
    client = network.connect()
    client.session.uid, client.session.unix_user = OWN, "culture-spark-claude"
    core_log_in(network.ircd, client.session, "spark-claude", "agent")
    return client


def agent(network: Network) -> Client:
    client = arrive(network)
    client.send("NICK spark-claude", "USER claude 0 * :claude agent")
    assert " 001 spark-claude " in "".join(client.lines())
    return client


def noted(network: Network) -> list[str]:
    return [note.text for note in network.ircd.notes.take() if note.kind == "impersonation-refused"]


def test_it_is_logged_in_from_the_start(network: Network):
    client = arrive(network)
    assert client.lines() == [":spark 900 * *!*@spark spark-claude :You are now logged in as spark-claude"]
    client.send("NICK spark-claude", "USER claude 0 * :c", "WHO spark-claude %na")
    assert client.lines()[-2] == ":spark 354 spark-claude spark-claude spark-claude"
    assert client.session.proof is Proof.AGENT_UNIX_USER
    reader = network.client("spark-bo", caps="account-tag")
    client.send("PRIVMSG spark-bo :hi")
    assert reader.lines() == ["@account=spark-claude :spark-claude!claude@spark PRIVMSG spark-bo :hi"]


@pytest.mark.parametrize("nick", ["spark-ori", "spark-helper", "spark-claude2", "thor-x", "root"])
def test_it_has_no_other_nick_before_it_is_here_and_later(network: Network, nick: str):
    text = "You are the agent spark-claude and cannot use another nick"
    client = arrive(network)
    client.lines()
    client.send(f"NICK {nick}", "USER claude 0 * :c")
    assert client.lines() == [f":spark 432 * {nick} :{text}"]
    client.send("NICK spark-claude")
    client.lines()
    client.send(f"NICK {nick}", "NICK Spark-Claude")
    assert client.lines() == [
        f":spark 432 spark-claude {nick} :{text}",
        ":spark-claude!claude@spark NICK :Spark-Claude",
    ]
    who = "test, user culture-spark-claude"
    assert noted(network) == [
        f"{who} may not be called '{nick}': it is the agent 'spark-claude'",
        f"spark-claude ({who}) may not be called '{nick}': it is the agent 'spark-claude'",
    ]


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("OPER root sesame", ":spark 491 spark-claude :Agents cannot be operators of the server"),
        ("OPER claude", ":spark 491 spark-claude :Agents cannot be operators of the server"),
        (
            "RELAYMSG #a ori/x :hello",
            ":spark FAIL RELAYMSG AGENT_REFUSED :Agents speak under their own names",
        ),
        (
            "REGISTER * * secret",
            ":spark FAIL REGISTER ALREADY_AUTHENTICATED spark-claude "
            ":Agents are always logged in to their own account",
        ),
    ],
)
def test_it_cannot_speak_or_act_for_others(network: Network, typed: str, answer: str):
    client = agent(network)
    client.send("JOIN #a", "CAP REQ :draft/relaymsg")
    client.lines()
    client.send(typed)
    assert client.lines() == [answer]
    assert not client.session.user.is_operator
    (entry,) = noted(network)
    assert f"user culture-spark-claude) may not use {typed.split()[0]}" in entry


def test_it_cannot_link_as_a_host(network: Network):
    client = arrive(network)
    client.lines()
    client.send("PASS secret", "SERVER thor 1 :thor")
    assert client.lines() == ["ERROR :Closing Link: spark (Agents cannot link as a host)"]
    assert len(noted(network)) == 1


@pytest.mark.parametrize("password", [PASSWORD, "wrong"])
def test_it_cannot_log_in_as_somebody_else_whatever_it_knows(network: Network, password: str):
    client = agent(network)
    log_in(client, "ori", password)
    assert client.lines()[-1] == ":spark 904 spark-claude :SASL authentication failed"
    assert client.session.user.account == "spark-claude"
    assert len(noted(network)) == 1


def test_it_cannot_log_in_as_somebody_else_by_scram(network: Network):
    client = agent(network)
    first = base64.b64encode(b"n,,n=ori,r=abc").decode()
    client.send("CAP REQ :sasl", "AUTHENTICATE SCRAM-SHA-256", f"AUTHENTICATE {first}")
    # No salt of another's password is given out.
    assert client.lines()[-1] == ":spark 904 spark-claude :SASL authentication failed"


def test_it_may_log_in_as_itself_and_stays_what_it_is(network: Network):
    client = agent(network)
    log_in(client, "spark-claude")
    assert client.lines()[-1] == ":spark 903 spark-claude :SASL authentication successful"
    assert client.session.proof is Proof.AGENT_UNIX_USER


@pytest.mark.parametrize("is_here", [True, False])
def test_nobody_else_takes_its_nick_and_the_journal_knows_who_tried(network: Network, is_here: bool):
    if is_here:
        agent(network)
    text = "Nickname is reserved to an agent of this host"
    stranger = network.connect()
    stranger.send("NICK SPARK-claude", "USER x 0 * :x")
    assert stranger.lines() == [f":spark 433 * SPARK-claude :{text}"]
    bo = network.client("spark-bo")
    bo.send("NICK spark-claude")
    assert bo.lines() == [f":spark 433 spark-bo spark-claude :{text}"]
    assert bo.session.user.nick == "spark-bo"
    assert len(noted(network)) == 2


def test_an_attempt_to_take_its_nick_is_in_the_journal(network: Network):
    bo = network.client("spark-bo")
    bo.session.unix_user = "culture-spark-codex"
    bo.send("NICK spark-claude")
    assert bo.lines() == [":spark 433 spark-bo spark-claude :Nickname is reserved to an agent of this host"]
    (note,) = network.ircd.notes.take()
    assert (note.kind, note.nick, note.unix_user) == (
        "impersonation-refused",
        "spark-bo",
        "culture-spark-codex",
    )
    assert "may not be called 'spark-claude'" in note.text


def test_nobody_else_logs_in_to_its_account_also_with_its_password(network: Network):
    client = network.client("spark-bo")
    log_in(client, "spark-claude")
    assert client.lines()[-1] == ":spark 904 spark-bo :SASL authentication failed"
    assert client.session.user.account is None
    assert len(noted(network)) == 1


def test_an_agent_that_runs_as_a_person_logs_in_as_before(network: Network):
    stranger, person, helper = network.connect(), network.connect(), network.connect()
    stranger.send("NICK spark-helper", "USER x 0 * :x")
    assert stranger.numerics() == ["433"]
    log_in(helper, "spark-helper")
    helper.send("NICK spark-helper", "USER x 0 * :x", "CAP END")
    assert "001" in helper.numerics()
    assert helper.session.proof is Proof.PASSWORD
    helper.send("QUIT")
    # The person may use the nick too, and any other.
    person.session.uid = SHARED
    person.send("NICK spark-helper", "USER x 0 * :x", "NICK spark-else")
    assert person.session.user.nick == "spark-else"


def test_who_took_the_nick_before_it_was_reserved_gives_it_up():
    agents = Agents()
    claude = agents.known.pop("spark-claude")
    network = Network(agents=agents)
    squatter = network.client("spark-claude")
    agents.known["spark-claude"] = claude
    client = agent(network)
    assert squatter.is_closed
    assert network.ircd.state.find_user("spark-claude") is client.session.user


def test_a_second_connection_of_the_agent_waits_until_the_first_is_gone(network: Network):
    first = agent(network)
    second = arrive(network)
    second.send("NICK spark-claude", "USER claude 0 * :c")
    assert second.lines()[-1] == ":spark 433 * spark-claude :Nickname is already in use"
    first.drop()
    second.send("NICK spark-claude")
    assert "001" in second.numerics()


@pytest.mark.parametrize("nick", ["spark-claude", "spark-helper", "spark-root", "spark-ori"])
def test_register_takes_no_name_of_an_agent_an_operator_or_an_account(network: Network, nick: str):
    """Before registration is complete a client can call itself anything."""
    client = network.connect()
    client.send("CAP LS 302", f"NICK {nick}", "USER x 0 * :x", "REGISTER * * secret")
    fail = client.lines()[-1]
    assert f"FAIL REGISTER {'ACCOUNT_EXISTS' if nick == 'spark-ori' else 'BAD_ACCOUNT_NAME'} {nick} " in fail
    assert client.session.user.account is None


def test_who_goes_on_trying_is_disconnected():
    network = Network(agents=Agents(), limits=Limits(login_failures=3))
    bo = network.client("spark-bo")
    bo.send(*["NICK spark-claude"] * 3)
    assert bo.is_closed


@pytest.mark.parametrize("is_registered", [True, False])
def test_it_stays_itself_over_a_restart_of_the_server(network: Network, is_registered: bool):
    """Also where nobody knows any more that its user was an agent's."""
    before = (agent if is_registered else arrive)(network)
    values = json.loads(json.dumps(session_values(network.ircd, before.session)))
    after = Network()
    client = after.adopt(restore_session(after.ircd, values, in_order=False))
    assert client.session.proof is Proof.AGENT_UNIX_USER
    assert client.session.unix_user == "culture-spark-claude"
    client.send("NICK spark-ori", "USER c 0 * :c")
    assert "432" in client.numerics()
    assert client.session.user.nick != "spark-ori"


@pytest.mark.parametrize(
    ("mechanism", "proof"),
    [
        ("PLAIN", Proof.PASSWORD),
        ("REGISTER", Proof.PASSWORD),
        ("EXTERNAL", Proof.CERTIFICATE),
        ("OAUTHBEARER", Proof.TOKEN),
        ("user", Proof.UNIX_USER),
        ("agent", Proof.AGENT_UNIX_USER),
    ],
)
def test_a_session_says_how_it_proved_who_it_is(network: Network, mechanism: str, proof: Proof):
    client = network.client("spark-bo")
    assert client.session.proof is Proof.NONE
    core_log_in(network.ircd, client.session, "bo", mechanism)
    assert client.session.proof is proof
