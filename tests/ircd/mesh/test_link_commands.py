"""RFC 2812 section 3.4: SERVER, LINKS, MAP, CONNECT and SQUIT, as clients and operators use them."""

from collections import deque

import pytest
from support.hosts import Host, Mesh
from support.network import Client, Network

from culture.config.ircd import OperConfig
from culture.ircd.session import Phase
from culture.ircd.skills import EventRecord, NotRecordedError, Skill, Skills
from culture.protocol.event_record import GENERATION_SHIFT

ROOT = OperConfig("root", password_credential="root")


def operator(*privileges: str) -> tuple[Host, Client]:
    opers = (OperConfig("root", password_credential="root", privileges=privileges),)
    host = Host("spark", opers=opers)
    host.ircd.oper_passwords = {"root": "secret"}
    root = host.client("root")
    root.send("OPER root secret")
    root.lines()
    return host, root


def test_a_connection_that_says_it_is_a_host_is_handed_over_with_its_secret():
    host = Host("spark")
    thor = host.network.connect()

    thor.send("PASS secret", "SERVER thor 1 :Thor", "LINK 2 1 1 *", "PRIVMSG #ops :hello")

    assert host.introductions == [(thor.session, "secret")]
    assert thor.session.phase is Phase.PROVING
    assert thor.session.password == ""
    assert host.asked == [("received", "LINK 2 1 1 *"), ("received", "PRIVMSG #ops :hello")]
    assert thor.lines() == []


def test_without_links_nobody_is_taken_for_a_host():
    network = Network()
    thor = network.connect()

    thor.send("PASS secret", "SERVER thor 1 :Thor")

    assert thor.lines() == ["ERROR :Closing Link: spark (No links are configured)"]
    assert thor.is_closed


def test_a_client_does_not_become_a_host():
    host = Host("spark")
    ori = host.client("ori")

    ori.send("SERVER thor 1 :Thor")

    assert ori.numerics() == ["462"]
    assert host.introductions == []


def test_the_end_of_a_link_is_told_and_time_does_not_end_it():
    host = Host("spark")
    thor = host.network.connect()
    thor.send("SERVER thor 1 :Thor")
    host.network.clock.advance(10_000)
    host.ircd.tick()
    assert not thor.is_closed

    thor.drop("gone")

    assert host.asked == [("ended", "gone")]


def test_links_and_map_show_the_hosts_and_lusers_counts_them():
    mesh = Mesh("spark", "thor", "orin")
    ori = mesh["spark"].client("ori")
    mesh["thor"].client("bo")
    mesh.settle()

    ori.send("LINKS", "LINKS th*", "MAP", "LUSERS")

    assert ori.lines() == [
        ":spark 364 spark-ori spark spark :0 Culture IRC server",
        ":spark 364 spark-ori orin spark :1 orin of the lab",
        ":spark 364 spark-ori thor spark :1 thor of the lab",
        ":spark 365 spark-ori * :End of /LINKS list",
        ":spark 364 spark-ori thor spark :1 thor of the lab",
        ":spark 365 spark-ori th* :End of /LINKS list",
        ":spark 015 spark-ori :spark (1 user)",
        ":spark 015 spark-ori :|- orin (0 users)",
        ":spark 015 spark-ori :`- thor (1 user)",
        ":spark 017 spark-ori :End of /MAP",
        ":spark 251 spark-ori :There are 2 users and 0 invisible on 3 servers",
        ":spark 252 spark-ori 0 :operator(s) online",
        ":spark 253 spark-ori 0 :unknown connection(s)",
        ":spark 254 spark-ori 0 :channels formed",
        ":spark 255 spark-ori :I have 1 clients and 2 servers",
        ":spark 265 spark-ori 1 1 :Current local users 1, max 1",
        ":spark 266 spark-ori 2 2 :Current global users 2, max 2",
    ]


def test_an_operator_opens_and_closes_links():
    host, root = operator("link")

    root.send("CONNECT thor", "SQUIT thor :tired", "SQUIT thor")

    assert root.lines() == [
        ":spark NOTICE spark-root :Connecting to thor",
        ":spark NOTICE spark-root :The link to thor is closed",
        ":spark NOTICE spark-root :The link to thor is closed",
    ]
    assert host.asked == [
        ("connect", "thor"),
        ("disconnect", "thor", "tired"),
        ("disconnect", "thor", "Closed by spark-root"),
    ]
    asked = [note for note in host.ircd.notes.take() if note.kind == "link-asked"]
    assert asked[0].text == "spark-root (test) asked for CONNECT thor"


def test_what_stands_in_the_way_is_told():
    host, root = operator("link")
    host.refusal = "thor is linked already"

    root.send("CONNECT thor")

    assert root.lines() == [":spark FAIL CONNECT CANNOT_CONNECT thor :thor is linked already"]


@pytest.mark.parametrize("command", ["CONNECT thor", "SQUIT thor"])
def test_without_links_there_is_no_such_server(command: str):
    opers = (OperConfig("root", password_credential="root"),)
    root = Network(opers=opers, oper_passwords={"root": "sesame"}).client("spark-root")
    root.send("OPER root sesame")
    root.lines()
    root.send(command)
    assert root.lines() == [":spark 402 spark-root thor :No links are configured"]


@pytest.mark.parametrize("command", ["CONNECT thor", "SQUIT thor"])
def test_it_takes_the_privilege(command: str):
    host, root = operator("kill")
    root.send(command)
    assert root.lines() == [":spark 723 spark-root link :Insufficient oper privileges."]
    ori = host.client("ori")
    ori.send(command)
    assert ori.numerics() == ["481"]
    assert host.asked == []


class Recorder(Skill):
    name = "recorder"
    records = frozenset({"PRIVMSG", "JOIN"})

    def __init__(self) -> None:
        self.committed: list[str] = []
        self.is_full = False

    def commit(self, happened: list[EventRecord]) -> None:
        if self.is_full:
            raise NotRecordedError("the disk is full")
        self.committed += [each.command for each in happened]


def test_other_hosts_hear_of_what_was_written_down_and_skills_only_of_what_they_want():
    recorder = Recorder()
    spark, thor = Host("spark", skills=Skills([recorder])), Host("thor")
    mesh = Mesh()
    mesh.hosts = {"spark": spark, "thor": thor}
    mesh.heal("spark", "thor")
    ori = spark.client("ori", "#ops")
    ori.send("AWAY :tea")
    mesh.settle()
    assert recorder.committed == ["JOIN"]
    assert "AWAY" not in recorder.committed
    assert thor.ircd.state.users["spark-ori"].away == "tea"

    recorder.is_full = True
    ori.send("PRIVMSG #ops :hello")
    mesh.settle()

    assert spark.asked == [("failed",)]
    assert not spark.unsent["thor"]


def test_numbers_go_up_from_the_second_in_which_the_server_started():
    host = Host("spark")
    host.unsent["thor"] = told = deque()
    host.client("ori", "#ops")
    host.network.flush()

    numbers = [each.seq for each in told]
    first = (1_000_000 << GENERATION_SHIFT) + 1
    assert numbers == list(range(first, first + len(numbers)))

    host.mesh.begin_generation(2_000_000)
    host.client("bo")
    host.network.flush()
    assert told[-1].seq == (2_000_000 << GENERATION_SHIFT) + 1
