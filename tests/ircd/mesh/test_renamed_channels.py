"""A channel that gets another name, whatever else happens at the same time: all hosts agree in the end."""

import pytest
from support.hosts import Host, Mesh, two_in_ops

from culture.ircd.events import Parted
from culture.ircd.replication.member_lists import relay_members
from culture.protocol.event_record import EventRecord
from culture.protocol.line import MalformedLine


def places(host: Host) -> dict[str, list[str]]:
    channels = host.ircd.state.channels.values()
    return {channel.name: sorted(user.nick for user in channel.members) for channel in channels}


def renamed(host: Host, to: str) -> EventRecord:
    """What a host is about to tell another."""
    host.network.flush()
    [found] = [each for each in host.unsent[to] if each.command == "RENAME"]
    return found


def agree(mesh: Mesh) -> bool:
    first, *others = (host.picture() for host in mesh.hosts.values())
    return all(other == first for other in others)


def test_who_hears_of_it_after_a_split_goes_with_the_channel():
    mesh = Mesh("spark", "thor", "orin")
    ori = mesh["spark"].client("ori", "#ops")
    ori.send("TOPIC #ops :tea")
    mesh.settle()
    bo = mesh["thor"].client("bo", "#ops")
    mesh.settle()
    mesh.cut("spark", "thor")
    mesh.cut("orin", "thor")
    ori.send("RENAME #ops #duty :clearer")
    told = renamed(mesh["spark"], "orin")
    mesh.settle()
    bo.lines()

    mesh["thor"].mesh.apply_event(told, is_replayed=True)
    mesh.heal_all()

    assert bo.lines()[:2] == [":thor-bo!bo@spark PART #ops :clearer", ":thor-bo!bo@spark JOIN #duty"]
    assert places(mesh["thor"]) == {"#duty": ["spark-ori", "thor-bo"]}
    assert agree(mesh)


def test_who_came_in_under_the_old_name_later_stays_there():
    mesh, ori, _ = two_in_ops()
    mesh["thor"].network.clock.advance(1)

    ori.send("RENAME #ops #duty")
    mesh["thor"].client("kit", "#ops")
    mesh.settle()

    assert places(mesh["spark"]) == {"#duty": ["spark-ori", "thor-bo"], "#ops": ["thor-kit"]}
    assert agree(mesh)


@pytest.mark.parametrize("newcomers", [[], ["kit"]])
def test_a_marker_goes_with_it(newcomers: list[str]):
    """Also where somebody stays behind, so that the others leave one channel for another."""
    mesh, ori, bo = two_in_ops()
    mesh["thor"].network.clock.advance(1)
    bo.send("MARKREAD #ops timestamp=1970-01-12T13:46:40.000Z")

    ori.send("RENAME #ops #duty")
    for nick in newcomers:
        mesh["thor"].client(nick, "#ops")
    mesh.settle()
    bo.lines()

    bo.send("MARKREAD #duty")
    assert bo.lines() == [":thor MARKREAD #duty timestamp=1970-01-12T13:46:40.000Z"]


def test_what_was_set_at_the_same_time_is_set_under_the_new_name():
    mesh, ori, bo = two_in_ops("MODE #ops -t")

    bo.send("TOPIC #ops :tea")
    ori.send("RENAME #ops #duty")
    mesh.settle()

    topic = mesh["spark"].ircd.state.channels["#duty"].topic
    assert topic is not None
    assert topic.text == "tea"
    assert agree(mesh)


@pytest.mark.parametrize("seconds", [-1, 1])
def test_of_two_names_at_a_time_the_later_one_counts(seconds: float):
    mesh = Mesh("spark", "thor", "orin")
    ori = mesh["spark"].client("ori", "#ops")
    mesh.settle()
    bo = mesh["thor"].client("bo", "#ops")
    mesh["orin"].client("kit", "#ops")
    mesh.settle()
    ori.send("MODE #ops +o thor-bo")
    mesh.settle()
    mesh["thor"].network.clock.advance(3 * seconds)
    mesh["spark"].network.clock.advance(2)

    ori.send("RENAME #ops #duty")
    bo.send("RENAME #ops #watch")
    mesh.settle()

    name = "#watch" if seconds > 0 else "#duty"
    assert places(mesh["orin"]) == {name: ["orin-kit", "spark-ori", "thor-bo"]}
    assert agree(mesh)


def test_both_may_give_it_the_same_name():
    mesh, ori, bo = two_in_ops()
    ori.send("MODE #ops +o thor-bo")
    mesh.settle()

    ori.send("RENAME #ops #duty")
    bo.send("RENAME #ops #duty")
    mesh.settle()

    assert places(mesh["spark"]) == {"#duty": ["spark-ori", "thor-bo"]}
    assert agree(mesh)


def test_who_leaves_at_the_same_time_is_gone_under_both_names():
    mesh, ori, bo = two_in_ops()

    bo.send("PART #ops")
    ori.send("RENAME #ops #duty")
    mesh.settle()

    assert places(mesh["spark"]) == places(mesh["thor"]) == {"#duty": ["spark-ori"]}


def test_operators_are_operators_under_the_new_name_also_where_they_were_before():
    mesh, ori, bo = two_in_ops()
    bo.send("JOIN #duty", "PART #duty")
    ori.send("MODE #ops +o thor-bo")
    mesh.settle()

    ori.send("RENAME #ops #duty")
    mesh.settle()

    channel = mesh["spark"].ircd.state.channels["#duty"]
    assert [user.nick for user in channel.members if channel.is_operator(user)] == ["spark-ori", "thor-bo"]
    assert agree(mesh)


def test_where_a_host_does_not_hear_of_it_its_users_stay():
    mesh, ori, _ = two_in_ops()
    mesh["spark"].direct = False

    ori.send("RENAME #ops #duty")
    mesh["spark"].network.flush()

    assert places(mesh["spark"]) == {"#duty": ["spark-ori"], "#ops": ["thor-bo"]}


def test_what_was_over_before_anybody_came_moves_nobody():
    mesh, ori, _ = two_in_ops()
    ori.send("RENAME #ops #duty")
    told = renamed(mesh["spark"], "thor")
    later = Mesh("spark", "thor")
    later["thor"].network.clock.advance(60)
    later["thor"].client("bo", "#ops")
    later.settle()

    later["thor"].mesh.record_event(told)
    later["thor"].network.flush()

    assert not later["thor"].unsent["spark"]
    assert places(later["thor"]) == {"#ops": ["thor-bo"]}


def test_a_crowd_is_told_of_in_pieces_and_who_is_in_none_of_them_is_gone():
    mesh = Mesh("spark", "thor")
    for name in "abcd":
        mesh["spark"].client(name, "#ops")
    mesh.settle()
    [ann] = [user for user in mesh["spark"].ircd.state.users.values() if user.nick == "spark-a"]
    ops = mesh["spark"].ircd.state.channels["#ops"]
    mesh["spark"].ircd.apply_change(Parted(ann, ops, ""), "m", 1.0)

    relay_members(mesh["spark"].ircd, "#ops", most=2)
    mesh["spark"].network.flush()

    assert [each.params for each in mesh["spark"].unsent["thor"]] == [("", "spark-d"), ("spark-d", "")]
    mesh.settle()
    assert places(mesh["thor"]) == {"#ops": ["spark-b", "spark-c", "spark-d"]}


def test_a_host_lets_nobody_join_who_is_not_on_it():
    mesh, ori, bo = two_in_ops()
    ori.send("JOIN #trap")
    mesh["spark"].network.flush()
    join = mesh["spark"].unsent["thor"].pop()
    who = mesh["thor"].ircd.state.sign_on_of(bo.session.user)

    forged = join._replace(tags={"agentirc.dev/named": f"{who.at_ms}@{who.host}"})

    with pytest.raises(MalformedLine, match="a user of another host"):
        mesh["thor"].mesh.apply_event(forged, is_replayed=False)


def test_who_is_in_a_channel_is_told_of_that_channel_alone():
    mesh, ori, _ = two_in_ops()
    ori.send("RENAME #ops #duty")
    mesh["spark"].network.flush()
    [told] = [each for each in mesh["spark"].unsent["thor"] if each.command == "MEMBERS" and each.text]

    with pytest.raises(MalformedLine, match="about another channel"):
        mesh["thor"].mesh.apply_event(told._replace(target="#other"), is_replayed=False)
