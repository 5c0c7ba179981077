"""Hosts that go and come back: what clients see of it (IRCv3 netsplit and netjoin), and what is left."""

import re

import pytest
from support.hosts import Mesh, two_in_ops
from support.network import Client

from culture.ircd.replication.tombstones import MAX_ENTRIES
from culture.names import fold
from culture.protocol.event_record import EventRecord
from culture.protocol.line import MalformedLine


def unnamed(lines: list[str]) -> list[str]:
    """With batches by the number in which they came."""
    names: dict[str, str] = {}
    for line in lines:
        for name in re.findall(r"BATCH \+(\S+)", line):
            names.setdefault(name, str(len(names) + 1))
    for name, number in names.items():
        lines = [line.replace(f"+{name}", f"+{number}").replace(f"-{name}", f"-{number}") for line in lines]
        lines = [line.replace(f"batch={name}", f"batch={number}") for line in lines]
    return lines


def test_the_users_of_a_lost_host_quit_in_a_batch_and_come_back_in_one():
    mesh = Mesh("spark", "thor")
    ori = mesh["spark"].client("ori", "#ops", caps="batch")
    kit = mesh["spark"].client("kit", "#ops")
    mesh.settle()
    mesh["thor"].client("bo", "#ops")
    mesh["thor"].client("jo", "#lone")
    mesh.settle()
    ori.lines(), kit.lines()

    mesh.cut("spark", "thor")
    assert unnamed(ori.lines()) == [
        ":spark BATCH +1 netsplit spark thor",
        "@batch=1 :thor-bo!bo@spark QUIT :spark thor",
        ":spark BATCH -1",
    ]
    assert kit.lines() == [":thor-bo!bo@spark QUIT :spark thor"]
    assert "#lone" not in mesh["spark"].picture()

    mesh.heal_all()
    assert unnamed(ori.lines()) == [
        ":spark BATCH +1 netjoin spark thor",
        "@batch=1 :thor-bo!bo@spark JOIN #ops",
        ":spark BATCH -1",
    ]
    assert kit.lines() == [":thor-bo!bo@spark JOIN #ops"]
    assert mesh["spark"].picture() == mesh["thor"].picture()


def test_operators_of_both_sides_are_operators_after_a_split():
    mesh, ori, bo = two_in_ops()
    mesh.cut("spark", "thor")

    bo.send("PART #ops", "JOIN #ops")
    ori.lines()
    mesh.heal_all()

    assert ori.lines() == [":thor-bo!bo@spark JOIN #ops", ":thor MODE #ops +o thor-bo"]


def closed_and_lost(*lines: str) -> tuple[Mesh, Client]:
    """thor-bo, who typed this before the only one in #ops was lost, and was not invited."""
    mesh = Mesh("spark", "thor")
    bo = mesh["thor"].client("bo")
    bo.send(*lines)
    mesh["spark"].client("ori", "#ops").send("MODE #ops +i")
    mesh.settle()
    mesh.cut("spark", "thor")
    bo.lines()
    return mesh, bo


def test_a_channel_that_is_closed_stays_closed_where_all_its_members_were_lost():
    _, bo = closed_and_lost()

    bo.send("JOIN #ops", "JOIN #ops")

    assert bo.lines() == [":thor 473 thor-bo #ops :Cannot join channel (+i)"] * 2


def test_no_other_channel_gets_the_name_of_one_whose_members_were_lost():
    mesh, bo = closed_and_lost("JOIN #mine")

    bo.send("RENAME #mine #OPS")

    assert bo.lines() == [
        ":thor FAIL RENAME CHANNEL_NAME_IN_USE #mine #OPS :There is already a channel of that name"
    ]
    mesh.heal_all()
    bo.send("RENAME #mine #ops")
    assert "CHANNEL_NAME_IN_USE" in bo.lines()[0]
    assert mesh["spark"].picture() == mesh["thor"].picture()


def test_who_makes_and_leaves_many_channels_opens_none_whose_members_were_lost():
    _, bo = closed_and_lost()
    for number in range(MAX_ENTRIES + 1):
        bo.send(f"JOIN #{number}", f"PART #{number}")
    bo.lines()

    bo.send("JOIN #ops")

    assert bo.lines() == [":thor 473 thor-bo #ops :Cannot join channel (+i)"]


def test_a_local_channel_does_not_hide_that_one_of_its_name_is_closed():
    _, bo = closed_and_lost("JOIN #ops", "MODE #ops +L")

    bo.send("PART #ops", "JOIN #ops")

    assert bo.lines()[1:] == [":thor 473 thor-bo #ops :Cannot join channel (+i)"]


def test_when_a_host_is_back_what_everybody_left_there_is_free():
    mesh, bo = closed_and_lost()
    [ori] = [user.session for user in mesh["spark"].ircd.state.users.values()]
    assert ori is not None
    mesh["spark"].ircd.received(ori, b"PART #ops")
    mesh.heal_all()

    bo.send("JOIN #ops")

    assert bo.lines()[0] == ":thor-bo!bo@spark JOIN #ops"


def test_what_both_sides_changed_is_the_later_one_on_both():
    mesh, ori, bo = two_in_ops("MODE #ops -t")
    mesh.cut("spark", "thor")
    bo.send("TOPIC #ops :tea")
    mesh["spark"].network.clock.advance(5)
    ori.send("TOPIC #ops :coffee", "MODE #ops +sb spam!*@*", "METADATA #ops SET url :https://example.org")
    ori.lines(), bo.lines()

    mesh.heal_all()

    assert bo.lines() == [
        ":spark-ori!ori@spark JOIN #ops",
        ":spark MODE #ops +o spark-ori",
        ":spark TOPIC #ops :coffee",
        ":spark MODE #ops +sb spam!*@*",
    ]
    assert mesh["spark"].picture() == mesh["thor"].picture()


def test_nobody_is_told_of_who_came_and_went_meanwhile():
    mesh, ori, bo = two_in_ops()
    ori.lines()

    # The link is away for a moment, and nobody has said that the host is lost.
    bo.send("QUIT :bye")
    mesh["thor"].client("kit", "#ops")
    mesh["thor"].network.flush()
    mesh["thor"].unsent["spark"].clear()
    mesh.connect("thor", "spark")

    assert ori.lines() == [
        ":thor-bo!bo@spark QUIT :Left while their host was out of reach",
        ":thor-kit!kit@spark JOIN #ops",
    ]


def test_what_is_told_again_is_delivered_only_where_the_host_was_not_lost():
    mesh = Mesh("spark", "thor")
    ori = mesh["spark"].client("ori", "#ops", caps="server-time message-tags")
    mesh.settle()
    mesh["thor"].client("bo", "#ops")
    mesh.settle()
    ori.lines()
    source, command = "thor-bo!bo@spark", "PRIVMSG"
    said = EventRecord("m1", 999_999.0, command, "#ops", source, None, "hello", origin="thor", seq=77)

    mesh["spark"].mesh.apply_event(said, is_replayed=True)
    assert ori.lines() == [f"@time=1970-01-12T13:46:39.000Z;msgid=m1 :{source} PRIVMSG #ops :hello"]

    mesh.cut("spark", "thor")
    ori.lines()
    mesh["spark"].mesh.apply_event(said._replace(id="m2", seq=78), is_replayed=True)
    assert ori.lines() == []


def test_where_a_link_is_limited_only_those_in_its_channels_are_known():
    mesh = Mesh("spark", "thor")
    mesh["spark"].client("ori", "#ops", "#secret")
    mesh["spark"].client("kit", "#secret")
    mesh["spark"].network.flush()
    mesh["spark"].unsent["thor"].clear()

    mesh["thor"].mesh.apply_snapshot("spark", mesh["spark"].mesh.snapshot("spark", frozenset({fold("#ops")})))

    assert sorted(mesh["thor"].picture()) == ["#ops", "spark-ori"]
    left = EventRecord(
        "m", 1.0, "PART", "#ops", "spark-ori!ori@spark", None, origin="spark", seq=9, scope="#ops"
    )
    mesh["thor"].mesh.apply_event(left, is_replayed=False)
    assert mesh["thor"].picture() == {}


def test_what_a_link_is_not_for_is_not_taken_from_it():
    mesh = Mesh("spark", "thor")
    mesh["spark"].client("ori", "#ops")
    lines = mesh["spark"].mesh.snapshot("spark", None)
    said = EventRecord("m", 1.0, "TOPIC", "#ops", "spark-ori!ori@spark", None, "tea", origin="spark", seq=9)

    with pytest.raises(MalformedLine, match="scope of the link"):
        mesh["thor"].mesh.apply_snapshot("spark", lines, frozenset({fold("#other")}))
    with pytest.raises(MalformedLine, match="scope of the link"):
        mesh["thor"].mesh.apply_event(said._replace(scope="#other"), is_replayed=False)

    assert mesh["thor"].picture() == {}
