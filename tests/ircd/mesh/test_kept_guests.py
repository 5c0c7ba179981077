"""Users of other hosts over a restart of this one: to clients they never left."""

import json

from support.hosts import Host, Mesh
from support.network import Client

from culture.ircd.restart.snapshot import (
    channel_values,
    drop_empty_channels,
    guest_values,
    restore_channel,
    restore_guest,
    restore_session,
    session_values,
)


def restarted(host: Host, client: Client) -> tuple[Host, Client]:
    """Another process, with what the first one kept."""
    state = host.ircd.state
    channels = [channel_values(each) for each in {**state.empty_channels.torn(), **state.channels}.values()]
    guests = [guest_values(state, user) for guests in state.remote_users.values() for user in guests]
    session = session_values(host.ircd, client.session)
    kept = json.loads(json.dumps([channels, guests, session]))
    other = Host(host.name)
    other.unsent = host.unsent
    for channel in kept[0]:
        restore_channel(other.ircd.state, channel)
    again = restore_session(other.ircd, kept[2], in_order=True)
    for guest in kept[1]:
        restore_guest(other.ircd, guest)
    drop_empty_channels(other.ircd.state)
    return other, other.network.adopt(again)


def meeting() -> tuple[Mesh, Client, Client]:
    mesh = Mesh("spark", "thor")
    bo = mesh["thor"].client("bo", "#ops")
    bo.send("MODE #ops +s", "AWAY :tea", "METADATA * SET url :https://example.org")
    mesh.settle()
    ori = mesh["spark"].client("ori", "#ops")
    bo.send("MODE #ops +v spark-ori")
    mesh.settle()
    ori.lines()
    return mesh, ori, bo


def test_another_process_knows_them_and_what_was_set():
    mesh, ori, _ = meeting()
    before = mesh["spark"].picture()

    mesh.hosts["spark"], ori = restarted(mesh["spark"], ori)

    assert mesh["spark"].picture() == before
    assert mesh["spark"].mesh.known_hosts() == ["thor"]
    assert ori.lines() == []


def test_when_their_host_is_back_nobody_sees_a_difference():
    mesh, ori, bo = meeting()
    mesh.hosts["spark"], ori = restarted(mesh["spark"], ori)

    mesh.connect("thor", "spark")
    mesh.connect("spark", "thor")
    mesh.settle()

    assert ori.lines() == []
    bo.send("PRIVMSG #ops :still here")
    mesh.settle()
    assert ori.lines() == [":thor-bo!bo@spark PRIVMSG #ops :still here"]
    assert mesh["spark"].picture() == mesh["thor"].picture()


def test_when_it_does_not_come_back_they_quit():
    mesh, ori, _ = meeting()
    mesh.hosts["spark"], ori = restarted(mesh["spark"], ori)

    mesh["spark"].mesh.remove_users_of(["thor"], ("spark", "thor"))

    assert ori.lines() == [":thor-bo!bo@spark QUIT :spark thor"]
    assert mesh["spark"].mesh.known_hosts() == []


def test_a_closed_channel_whose_members_were_lost_stays_closed():
    mesh, ori, bo = meeting()
    bo.send("JOIN #inside", "MODE #inside +i")
    mesh.settle()
    mesh.cut("spark", "thor")
    ori.lines()

    mesh.hosts["spark"], ori = restarted(mesh["spark"], ori)
    ori.send("JOIN #inside")

    assert ori.lines() == [":spark 473 spark-ori #inside :Cannot join channel (+i)"]
