"""What hosts tell each other: once, in order, all of it, and nothing to who may not have it."""

from support.mesh.few import Hosts
from support.mesh.world import START

from culture.federation.ports import MeshNoteKind


def talk(hosts: Hosts, nick: str, channel: str, first: int = 0, last: int = 20) -> list[str]:
    said = [f"{nick} {number}" for number in range(first, last)]
    for text in said:
        hosts.do("PRIVMSG", nick, channel, text)
    return said


def with_users(*wires: str, seed: int = 0) -> Hosts:
    """On each host somebody who is in #ops."""
    hosts = Hosts(*wires, seed=seed)
    for name in hosts.world.machines:
        hosts.do("USER", f"{name}-ann")
        hosts.do("JOIN", f"{name}-ann", "#ops")
    hosts.world.run(1)
    return hosts


def seen(hosts: Hosts, name: str) -> set[str]:
    return {nick for users in hosts[name].users.values() for nick in users}


# What is said.


def test_a_message_reaches_every_host_once_however_they_are_linked() -> None:
    for wires in (["spark-thor", "thor-orin"], ["spark-thor", "thor-orin", "orin-spark"]):
        hosts = with_users(*wires)

        said = talk(hosts, "spark-ann", "#ops")
        hosts.world.run(3)

        assert hosts.said("thor") == hosts.said("orin") == said


def test_every_event_goes_over_a_wire_at_most_once() -> None:
    hosts = with_users("spark-thor", "thor-orin", "orin-spark")
    hosts.do("PRIVMSG", "spark-ann", "#ops", "only once")
    hosts.world.run(1)

    assert sum("only once" in line for line in hosts.world.carried) == 2


def test_what_was_missed_in_a_cut_comes_back_in_order() -> None:
    hosts = with_users("spark-thor")
    hosts.world.cut(frozenset({"spark", "thor"}))
    here, there = talk(hosts, "spark-ann", "#ops"), talk(hosts, "thor-ann", "#ops")
    hosts.world.run(30)

    hosts.world.mend(frozenset({"spark", "thor"}))
    hosts.world.run(10)

    assert [text for text in hosts.said("thor") if text in here] == here
    assert [text for text in hosts.said("spark") if text in there] == there


def test_what_was_missed_in_silence_comes_back() -> None:
    """Nobody told either side that the other was gone."""
    hosts = with_users("spark-thor")
    hosts.world.silence(frozenset({"spark", "thor"}))
    said = talk(hosts, "spark-ann", "#ops")
    hosts.world.run(40)

    hosts.world.mend(frozenset({"spark", "thor"}))
    hosts.world.run(20)

    assert hosts.said("thor") == said


def test_a_host_that_counts_anew_is_heard_all_the_same() -> None:
    """Its clock went back by a day, and its state is an empty one."""
    hosts = with_users("spark-thor")
    before = talk(hosts, "spark-ann", "#ops", 0, 5)
    hosts.world.run(1)
    spark = hosts.world.machines["spark"]
    spark.backups.append(type(spark.disk)())
    hosts.world.crash("spark")
    hosts.world.restore("spark")
    spark.skew_s = -86400
    hosts.world.boot("spark")
    hosts.do("USER", "spark-ann")
    hosts.do("JOIN", "spark-ann", "#ops")

    after = talk(hosts, "spark-ann", "#ops", 5, 25)
    hosts.world.run(10)
    later = talk(hosts, "spark-ann", "#ops", 25, 30)
    hosts.world.run(1)

    assert hosts.said("thor") == before + after + later
    assert sorted(hosts.said("spark")) == sorted(before + after + later)
    assert hosts["spark"].mesh.hosts.own.generation > START


def test_a_third_host_tells_what_a_host_said_that_is_gone() -> None:
    hosts = with_users("spark-thor", "thor-orin")
    hosts.world.crash("orin")
    said = talk(hosts, "spark-ann", "#ops")
    hosts.world.run(5)
    hosts.world.crash("spark")
    hosts.world.run(10)

    hosts.world.boot("orin")
    hosts.world.run(10)

    assert hosts.said("orin") == said


def test_live_traffic_goes_on_during_a_replay_and_stays_in_order() -> None:
    hosts = with_users("spark-thor")
    hosts.world.cut(frozenset({"spark", "thor"}))
    said = talk(hosts, "spark-ann", "#ops", 0, 60)
    hosts.world.run(20)
    hosts.world.mend(frozenset({"spark", "thor"}))

    for number in range(60, 120):
        said += talk(hosts, "spark-ann", "#ops", number, number + 1)
        hosts.world.run(0.1)
    hosts.world.run(10)

    assert hosts.said("thor") == said


def test_a_replay_that_is_cut_goes_on_where_it_was() -> None:
    hosts = with_users("spark-thor")
    wire = frozenset({"spark", "thor"})
    hosts.world.cut(wire)
    said = talk(hosts, "spark-ann", "#ops", 0, 100)
    hosts.world.wires[wire].is_cut = False
    hosts.world.wires[wire].lines_per_s = 100
    while not hosts.said("thor"):
        hosts.world.run(0.05)
    assert len(hosts.said("thor")) < 100
    hosts.world.crash("thor")
    hosts.world.boot("thor")

    hosts.world.mend(wire)
    hosts.world.run(10)

    assert hosts.said("thor") == said


def test_a_slow_wire_does_not_pile_up_what_history_can_tell_later() -> None:
    hosts = with_users("spark-thor")
    wire = hosts.world.wires[frozenset({"spark", "thor"})]
    wire.lines_per_s = 20
    said = talk(hosts, "spark-ann", "#ops", 0, 200)

    waiting = max(end.unsent_bytes for each in hosts.world.connections for end in each.ends)
    wire.lines_per_s = 0
    hosts.world.run(30)

    assert waiting < 4000
    assert hosts.said("thor") == said


def test_what_a_full_disk_could_not_hold_comes_again_when_there_is_room() -> None:
    hosts = with_users("spark-thor", "thor-orin")
    thor = hosts.world.machines["thor"].disk
    thor.is_full = True
    said = talk(hosts, "spark-ann", "#ops", 0, 3)
    hosts.world.run(3)
    assert hosts.said("thor") == hosts.said("orin") == []

    thor.is_full = False
    said += talk(hosts, "spark-ann", "#ops", 3, 6)
    hosts.world.run(20)

    assert hosts.said("thor") == hosts.said("orin") == said


# Who is there.


def test_users_of_a_host_that_is_gone_are_gone_after_the_grace_and_come_back_with_it() -> None:
    hosts = with_users("spark-thor", "thor-orin")
    hosts.world.cut(frozenset({"thor", "orin"}))

    hosts.world.run(4)
    assert seen(hosts, "spark") == {"spark-ann", "thor-ann", "orin-ann"}
    hosts.world.run(3)
    assert seen(hosts, "spark") == {"spark-ann", "thor-ann"}
    hosts.world.mend(frozenset({"thor", "orin"}))
    hosts.world.run(10)
    assert seen(hosts, "spark") == {"spark-ann", "thor-ann", "orin-ann"}


def test_a_link_that_flaps_is_seen_by_nobody() -> None:
    hosts = with_users("spark-thor")
    lost: list[object] = []
    hosts["spark"].lost = lambda origins, between: lost.append(origins)  # type: ignore[method-assign]

    hosts.world.cut(frozenset({"spark", "thor"}))
    hosts.world.mend(frozenset({"spark", "thor"}))
    hosts.world.run(20)

    assert not lost
    assert seen(hosts, "spark") == {"spark-ann", "thor-ann"}


def test_a_peer_that_is_silent_is_gone_within_fifteen_seconds() -> None:
    hosts = with_users("spark-thor")

    hosts.world.silence(frozenset({"spark", "thor"}))
    hosts.world.run(17)

    assert not hosts["spark"].mesh.links.up
    assert seen(hosts, "spark") == {"spark-ann"}


def test_who_left_while_a_host_was_away_is_no_ghost_there() -> None:
    hosts = with_users("spark-thor")
    hosts.do("USER", "spark-bo")
    hosts.do("JOIN", "spark-bo", "#ops")
    hosts.world.run(1)
    hosts.world.cut(frozenset({"spark", "thor"}))
    hosts.do("QUIT", "spark-bo")
    hosts.do("PART", "spark-ann", "#ops")

    hosts.world.mend(frozenset({"spark", "thor"}))
    hosts.world.run(10)

    assert hosts["thor"].users["spark"] == {"spark-ann": set()}


# Direct messages.


def test_a_direct_message_is_on_the_two_hosts_concerned_and_on_no_other() -> None:
    hosts = with_users("spark-thor", "thor-orin", "orin-juno")

    hosts.do("PRIVMSG", "spark-ann", "orin-ann", "psst")
    hosts.world.run(1)

    assert hosts.said("spark") == hosts.said("orin") == ["psst"]
    assert hosts.said("thor") == hosts.said("juno") == []


def test_direct_messages_wait_for_a_host_that_is_away() -> None:
    hosts = with_users("spark-thor", "thor-orin")
    hosts.world.crash("orin")
    said = talk(hosts, "spark-ann", "orin-ann")
    hosts.world.run(20)

    hosts.world.boot("orin")
    hosts.world.run(10)

    assert hosts.said("orin") == said


def test_direct_messages_that_were_lost_between_are_sent_again_in_order() -> None:
    hosts = with_users("spark-thor", "thor-orin")
    for number in range(20):
        talk(hosts, "spark-ann", "orin-ann", number, number + 1)
        if number == 10:
            hosts.world.crash("thor")
            hosts.world.boot("thor")
        hosts.world.run(0.3)
    hosts.world.run(20)

    assert hosts.said("orin") == [f"spark-ann {number}" for number in range(20)]


# What a link may say.


def test_a_limited_link_carries_its_channels_and_nothing_else() -> None:
    hosts = with_users("spark-thor=#ops", "thor-orin")
    hosts.do("USER", "orin-bo")
    hosts.do("JOIN", "orin-bo", "#inside")
    said = talk(hosts, "orin-ann", "#ops")
    talk(hosts, "orin-bo", "#inside")
    hosts.do("PRIVMSG", "orin-ann", "spark-ann", "psst")
    hosts.world.run(5)

    assert hosts.said("spark") == said
    assert seen(hosts, "spark") == {"spark-ann", "thor-ann", "orin-ann"}


def test_a_local_channel_stays_where_it_is() -> None:
    hosts = with_users("spark-thor")
    hosts.do("JOIN", "spark-ann", "#local-x")
    talk(hosts, "spark-ann", "#local-x")
    hosts.world.run(1)

    assert hosts.said("thor") == []
    assert hosts["thor"].users["spark"] == {"spark-ann": {"#ops"}}


def broken_by(line: str) -> tuple[Hosts, str]:
    """What spark notes when thor says this."""
    hosts = with_users("spark-thor", "spark-orin")
    mesh = hosts["spark"].mesh
    mesh.received(mesh.links.up["thor"].key, line.encode())
    notes = [note.text for note in mesh.flush().notes if note.kind is MeshNoteKind.BROKEN]
    return hosts, "".join(notes)


def test_a_host_speaks_only_for_its_own_users() -> None:
    forged = "@o=thor;n=1790000000.99;t=1;i=x :orin-ann!x@orin PRIVMSG #ops :forged"

    hosts, note = broken_by(forged)

    assert note == "'orin-ann!x@orin' is not of the host 'thor'"
    assert "thor" not in hosts["spark"].mesh.links.up
    assert "forged" not in hosts.said("spark")


def test_what_was_not_asked_for_is_not_taken() -> None:
    """Orin is linked to us: what thor says of it counts for nothing, be it to all or to one."""
    for line in (
        "@o=orin;n=1790000000.99;t=1;i=x :orin-ann!x@orin PRIVMSG #ops :forged",
        "@o=orin;n=1790000000.99;t=1;i=x;d=spark;v=0.0;h=9;e=nick:orin-ann\\snick:spark-ann "
        ":orin-ann!x@orin PRIVMSG spark-ann :forged",
        "@o=spark;n=1790000000.99;t=1;i=x :spark-ann!x@spark PRIVMSG #ops :forged",
        "HOST orin 1999999999 1 thor :forged",
    ):
        hosts, note = broken_by(line)
        hosts.world.turn("spark")

        assert note == ""
        assert "forged" not in hosts.said("spark")
        assert hosts["spark"].mesh.hosts.records["orin"].description == ""


def test_nobody_makes_a_host_use_up_its_numbers() -> None:
    hosts, note = broken_by("HOST spark 4294967290 1 thor :forged")

    assert note == "the generation of 'spark' is years ahead of the clock"
    assert "thor" not in hosts["spark"].mesh.links.up
    assert hosts["spark"].mesh.hosts.own.generation < START + 60


def test_what_is_no_line_of_a_link_ends_it() -> None:
    for line in ("OPER root secret", "HAS spark-ann", "HELD", "@x=1 PRIVMSG", "HOST 1x 1 1 :", "WANT", ":"):
        hosts, note = broken_by(line)

        assert note
        assert "thor" not in hosts["spark"].mesh.links.up
