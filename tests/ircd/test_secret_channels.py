"""A secret channel does not exist for who is not in it (RFC 2811 section 4.2.6)."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.history import Remembering, remembering
from support.network import Client, Network

from culture.ircd.commands.table import COMMANDS

SECRET = "#secret"
# Joining tells: it is how somebody gets in. RENAME is refused to all but members.
COMMANDS_TO_TRY = sorted({*COMMANDS, "CHATHISTORY", "HISTORY"} - {"JOIN", "QUIT", "BATCH", "SERVER"})
PARAMETERS = [
    "{}",
    "{} b",
    "{} +b",
    "{} +i",
    "{} +o spark-member",
    "{} -k x",
    "{} :text",
    "{} spark-member",
    "{} spark-member :text",
    "{} spark-outsider #other",
    "spark-member {}",
    "spark-outsider {}",
    "spark-nobody {}",
    "#own,{}",
    "{},#own",
    "@{} :text",
    "{} GET url",
    "{} LIST",
    "{} SET url x",
    "{} CLEAR",
    "{} SYNC",
    "{} timestamp=2020-01-01T00:00:00.000Z",
    "LATEST {} * 10",
    "BEFORE {} timestamp=2030-01-01T00:00:00.000Z 10",
    "LATEST @{} * 10",
    "RECENT {}",
    "SEARCH {} word",
    "SEARCH * word",
    "{} m1",
    "{} irc/bo :text",
    "{} %tcuhnfr,42",
    "{},<100",
    "{}*",
    "0 {}",
]


@pytest.fixture
def network(tmp_path: Path) -> Iterator[Remembering]:
    with remembering(tmp_path) as network:
        yield network


@pytest.fixture
def member(network: Network) -> Client:
    member = network.client("spark-member", SECRET)
    member.send(f"MODE {SECRET} +snt", f"TOPIC {SECRET} :the plan", f"METADATA {SECRET} SET url x")
    member.send(f"MODE {SECRET} +b bad", f"PRIVMSG {SECRET} :word")
    member.lines()
    return member


def join_outsider(network: Network) -> Client:
    caps = "draft/metadata-3 batch draft/chathistory draft/read-marker draft/relaymsg message-tags"
    outsider = network.client("spark-outsider", "#own", caps=caps)
    assert "draft/chathistory" in outsider.session.caps
    return outsider


@pytest.fixture
def outsider(network: Network, member: Client) -> Client:
    return join_outsider(network)


@pytest.mark.parametrize("command", COMMANDS_TO_TRY)
def test_an_outsider_cannot_tell_by_any_command_whether_it_exists(
    tmp_path: Path, outsider: Client, command: str
):
    with remembering(tmp_path / "without") as without:
        without.client("spark-member", "#gone").send("PART #gone")
        elsewhere = join_outsider(without)
        for client in (outsider, elsewhere):
            client._ircd.new_id = itertools.count().__repr__
            for parameters in PARAMETERS:
                client.send(f"{command} {parameters.format(SECRET)}")
        assert outsider.lines() == elsewhere.lines()


def test_the_number_of_channels_does_not_count_it(network: Network, member: Client, outsider: Client):
    def count(client: Client) -> str:
        client.send("LUSERS")
        return next(line for line in client.lines() if " 254 " in line)

    assert " 254 spark-outsider 1 " in count(outsider)
    assert " 254 spark-member 2 " in count(member)
    member.send(f"MODE {SECRET} -s")
    assert " 254 spark-outsider 2 " in count(outsider)
    member.send(f"MODE {SECRET} +s", f"PART {SECRET}")
    member.lines()
    assert " 254 spark-outsider 1 " in count(outsider)
    assert network.ircd.state.secret == set()


def test_nobody_is_seen_in_it_by_whois_who_and_list(network: Network, member: Client, outsider: Client):
    outsider.send("WHOIS spark-member", "WHO spark-member", "WHO *", "LIST", "NAMES", "WHOWAS spark-member")
    assert not [line for line in outsider.lines() if SECRET in line]


def test_its_members_see_all_of_it(member: Client):
    member.send(f"MODE {SECRET}", f"TOPIC {SECRET}", f"NAMES {SECRET}", f"WHO {SECRET}", f"MODE {SECRET} b")
    assert member.numerics() == ["324", "329", "332", "333", "353", "366", "352", "315", "367", "368"]


def test_who_may_speak_to_it_from_outside_is_heard(network: Network, member: Client, outsider: Client):
    member.send(f"MODE {SECRET} -n")
    member.lines()
    outsider.send(f"PRIVMSG {SECRET} :hello")
    assert outsider.lines() == []
    assert member.lines() == [f":spark-outsider!outsider@spark PRIVMSG {SECRET} :hello"]
