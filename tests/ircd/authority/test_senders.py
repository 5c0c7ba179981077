"""Who is a person is proved, and agents can rely on it (extensions/senders.md)."""

import pytest
from support.known_agents import SHARED_UID, KnownAgents, agent_of, unix_person
from support.network import Client, Network

from culture.config.ircd import AccountsConfig, OperConfig
from culture.ircd.authority.kinds import update_all_kinds
from culture.protocol.authority.senders import SenderKind

PERSON, AGENT, UNKNOWN = SenderKind.PERSON, SenderKind.AGENT, SenderKind.UNKNOWN


@pytest.fixture
def network() -> Network:
    return Network(agents=KnownAgents())


def kind(client: Client) -> SenderKind:
    return client.session.user.kind


def reader(network: Network) -> Client:
    return agent_of(network, "#ops", caps="message-tags")


def texts(client: Client) -> list[str]:
    """The messages that a client read, without their ids."""
    return [line.partition(";")[2] or line for line in client.lines() if " PRIVMSG " in line]


def test_nobody_is_a_person_by_a_nick_or_by_not_being_a_bot(network: Network):
    assert kind(network.client("spark-ori")) is UNKNOWN


def test_an_account_proves_a_person(network: Network):
    ori = network.client("spark-ori", account="ori")
    assert kind(ori) is PERSON
    ori.send("MODE spark-ori +B")
    assert kind(ori) is UNKNOWN
    ori.send("MODE spark-ori -B")
    assert kind(ori) is PERSON


@pytest.mark.parametrize(
    ("uid", "user", "people", "expected"),
    [
        (1000, "ori", ("unix:*",), PERSON),
        (0, "root", ("unix:*",), PERSON),
        # A service of this machine, and nobody.
        (33, "www-data", ("unix:*",), UNKNOWN),
        (65534, "nobody", ("unix:*",), UNKNOWN),
        # An agent runs as this person, so that it may be either.
        (SHARED_UID, "bo", ("unix:*",), UNKNOWN),
        (SHARED_UID, "bo", ("unix:bo",), PERSON),
        (1000, "ori", ("unix:lea", "account:ori"), UNKNOWN),
        (1000, "ori", (), UNKNOWN),
    ],
)
def test_a_unix_user_proves_a_person(uid: int, user: str, people: tuple[str, ...], expected: SenderKind):
    network = Network(agents=KnownAgents(), people=people)
    client = unix_person(network, "spark-x", uid=uid, user=user)
    assert kind(client) is expected


def test_an_agent_is_known_by_its_unix_user_its_nick_or_its_account(network: Network):
    everybody = Network(
        agents=KnownAgents(),
        people=("account:*", "unix:*", "account:spark-claude", "unix:culture-spark-claude"),
    )
    assert kind(agent_of(everybody)) is AGENT
    # One that runs as a person has its nick reserved, or logs in to its account.
    assert kind(unix_person(everybody, "spark-helper", uid=SHARED_UID, user="bo")) is AGENT
    assert kind(network.client("spark-x", account="spark-helper")) is AGENT


def test_an_agent_stays_one_whatever_it_does(network: Network):
    helper = unix_person(network, "spark-helper", uid=SHARED_UID, user="bo")
    helper.send("NICK spark-somebody", "MODE spark-somebody -B")
    assert helper.session.user.nick == "spark-somebody"
    assert kind(helper) is AGENT


def test_who_registers_an_account_is_no_person_by_it():
    network = Network(agents=KnownAgents(), accounts=AccountsConfig(registration=True))
    assert kind(network.client("spark-ori", account="ori")) is UNKNOWN
    named = Network(people=("account:ori",), accounts=AccountsConfig(registration=True))
    assert kind(named.client("spark-ori", account="ori")) is PERSON


def test_a_reload_decides_anew(network: Network):
    ori = unix_person(network, "spark-ori")
    config = network.ircd.config
    network.ircd.reconfigure(type(config)(name="spark", people=("account:*",)), {})
    update_all_kinds(network.ircd)
    assert kind(ori) is UNKNOWN


def test_agents_read_who_is_a_person(network: Network):
    claude = reader(network)
    ori, guest = unix_person(network, "spark-ori", "#ops"), network.client("spark-guest", "#ops")
    claude.lines()
    ori.send("PRIVMSG #ops :yes", "PRIVMSG spark-claude :yes")
    guest.send("PRIVMSG #ops :yes", "PRIVMSG spark-claude :yes")
    person, nobody = ":spark-ori!ori@spark PRIVMSG", "PRIVMSG"
    assert texts(claude) == [
        f"agentirc.dev/sender=person {person} #ops :yes",
        f"agentirc.dev/sender=person {person} spark-claude :yes",
        f"@msgid=m6 :spark-guest!guest@spark {nobody} #ops :yes",
        f"@msgid=m7 :spark-guest!guest@spark {nobody} spark-claude :yes",
    ]


def test_everybody_reads_who_is_an_agent(network: Network):
    ori = network.client("spark-ori", "#ops", caps="message-tags")
    claude = agent_of(network, "#ops")
    ori.lines()
    claude.send("PRIVMSG #ops :done", "MODE spark-claude +B", "PRIVMSG #ops :done")
    assert texts(ori) == [
        "agentirc.dev/sender=agent :spark-claude!claude@spark PRIVMSG #ops :done",
        "bot;agentirc.dev/sender=agent :spark-claude!claude@spark PRIVMSG #ops :done",
    ]


def test_no_client_can_set_the_tag(network: Network):
    claude, guest = reader(network), network.client("spark-guest", "#ops", caps="message-tags draft/relaymsg")
    claude.lines()
    guest.send(
        "@agentirc.dev/sender=person PRIVMSG #ops :one",
        "@agentirc.dev/sender=person;+agentirc.dev/sender=person PRIVMSG #ops :two",
        "@agentirc.dev/sender=person RELAYMSG #ops ori/net :three",
    )
    assert [line for line in claude.lines() if "agentirc.dev/sender=person" in line] == [
        "@msgid=m4;+agentirc.dev/sender=person :spark-guest!guest@spark PRIVMSG #ops :two"
    ]


def test_a_bridge_that_a_person_runs_makes_nobody_a_person(network: Network):
    claude, ori = reader(network), unix_person(network, "spark-ori", "#ops")
    ori.send("CAP REQ :draft/relaymsg")
    claude.lines()
    ori.send("RELAYMSG #ops bo/net :stop")
    assert texts(claude) == ["draft/relaymsg=spark-ori :bo/net!relay@spark PRIVMSG #ops :stop"]


def test_where_no_agent_reads_nothing_is_added(network: Network):
    bo = network.client("spark-bo", "#quiet", caps="message-tags")
    ori = unix_person(network, "spark-ori", "#quiet")
    bo.lines()
    ori.send("PRIVMSG #quiet :hello", "PRIVMSG spark-bo :hello", "@+x PRIVMSG #quiet :hello")
    assert not any("agentirc.dev/sender" in line for line in bo.lines())


def test_an_operator_of_the_server_is_no_person_by_that():
    opers = (OperConfig("root", password_credential="root"),)
    network = Network(agents=KnownAgents(), opers=opers, oper_passwords={"root": "sesame"})
    guest = network.client("spark-guest")
    guest.send("OPER root sesame")
    assert guest.session.user.is_operator
    assert kind(guest) is UNKNOWN
