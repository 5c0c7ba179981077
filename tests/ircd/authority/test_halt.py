"""HALT and UNHALT: agents are told, people are told, and agents cannot do it (extensions/halt.md)."""

import pytest
from support.known_agents import KnownAgents, agent_of, unix_person
from support.network import Client, Network

from culture.config.ircd import OperConfig

OPERS = (
    OperConfig("root", password_credential="root"),
    OperConfig("watch", password_credential="root", privileges=("wallops",)),
)


@pytest.fixture
def network() -> Network:
    return Network(agents=KnownAgents(), opers=OPERS, oper_passwords={"root": "sesame", "watch": "sesame"})


def administrator(network: Network) -> Client:
    """culturectl, which root runs: it does not register."""
    client = network.connect()
    client.session.uid, client.session.unix_user, client.session.is_administrator = 0, "root", True
    return client


def test_root_halts_without_registering_and_agents_are_told(network: Network):
    claude, ori = agent_of(network, caps="agentirc.dev/halt"), network.client("spark-ori")
    root = administrator(network)
    root.send("HALT host :the disk is full")
    told = ":spark HALT host root 1000000000 :the disk is full"
    assert root.lines() == [told]
    assert claude.lines() == [told]
    text = "All agents of spark are halted, by root: the disk is full"
    assert ori.lines() == [f":spark NOTICE spark-ori :{text}"]
    root.send("UNHALT host")
    assert root.lines() == [":spark UNHALT *"]
    assert claude.lines() == [":spark UNHALT *"]
    assert ori.lines() == [":spark NOTICE spark-ori :All agents of spark may work again, by root"]


def test_an_operator_with_the_privilege_may_halt(network: Network):
    ori = network.client("spark-ori")
    ori.send("HALT mesh", "OPER watch sesame", "HALT mesh", "OPER root sesame")
    assert [line.split()[1] for line in ori.lines()] == ["481", "381", "MODE", "723", "381"]
    ori.send("HALT mesh :stop", "HALT everything")
    assert ori.lines() == [
        ":spark NOTICE spark-ori :All agents of spark are halted, by spark-ori: stop",
        ":spark HALT mesh spark-ori 1000000000 :stop",
        ":spark FAIL HALT INVALID_PARAMS :The scope is host or mesh",
    ]


def test_a_person_without_the_privilege_and_an_agent_may_not(network: Network):
    ori, claude = unix_person(network, "spark-ori"), agent_of(network)
    for client in (ori, claude, network.connect()):
        client.send("HALT host", "UNHALT host")
    assert network.ircd.halts.current is None
    assert [line.split()[1] for line in ori.lines()] == ["481", "481"]
    assert claude.lines() == [
        ":spark FAIL HALT AGENT_REFUSED :Agents neither halt nor end a halt",
        ":spark FAIL UNHALT AGENT_REFUSED :Agents neither halt nor end a halt",
    ]


def test_an_agent_that_runs_as_an_administrator_may_not_either(network: Network):
    helper = administrator(network)
    helper.session.uid = 1009
    helper.send("NICK spark-helper", "USER h 0 * :h")
    helper.lines()
    helper.send("UNHALT host")
    assert helper.lines() == [":spark FAIL UNHALT AGENT_REFUSED :Agents neither halt nor end a halt"]


def test_who_connects_during_a_halt_is_told(network: Network):
    administrator(network).send("HALT mesh :stop")
    claude = network.connect()
    claude.send("CAP REQ :agentirc.dev/halt", "NICK spark-x", "USER x 0 * :x", "CAP END")
    assert claude.lines()[-1] == ":spark HALT mesh root 1000000000 :stop"
    person = network.connect()
    person.send("NICK spark-ori", "USER x 0 * :x")
    assert person.lines()[-1] == ":spark NOTICE spark-ori :All agents of spark are halted, by root: stop"


def test_who_connects_without_a_halt_learns_that_too(network: Network):
    claude = network.connect()
    claude.send("CAP REQ :agentirc.dev/halt", "NICK spark-x", "USER x 0 * :x", "CAP END")
    assert claude.lines()[-1] == ":spark UNHALT *"


def test_a_halt_of_the_mesh_outlasts_the_end_of_one_of_the_host(network: Network):
    root, claude = administrator(network), agent_of(network, caps="agentirc.dev/halt")
    root.send("HALT host", "HALT mesh", "UNHALT host")
    assert root.lines()[-1] == ":spark HALT mesh root 1000000001 :"
    assert claude.lines()[-1] == ":spark HALT mesh root 1000000001 :"
    root.send("HALT host", "UNHALT mesh")
    assert root.lines()[-1] == ":spark UNHALT *"
    assert network.ircd.halts.current is None
