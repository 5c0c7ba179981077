"""A linked host that lies about its own users gains no authority here."""

from random import Random

import pytest
from support.mesh.server import ServerHost
from support.mesh.typed_peer import GENERATION, Spark, TypedPeer
from support.mesh.world import Wire, World

from culture.protocol.authority.senders import SenderKind

NOW_MS = GENERATION * 1000


def said(number: int, claim: str, text: str = "yes", nick: str = "thor-bo") -> str:
    tags = f"o=thor;n={GENERATION}.{number};t={NOW_MS};i=m{number};p;.agentirc.dev/sender={claim}"
    return f"@{tags} :{nick}!bo@thor PRIVMSG #ops :{text}"


def linked(spark: Spark, *channels: str) -> TypedPeer:
    """A peer with a user in #ops, which a client of ours is in, too."""
    spark.do("USER", "spark-ori")
    spark.do("JOIN", "spark-ori", "#ops")
    thor = TypedPeer(spark)
    thor.answer("WANT", "thor", ",".join(channels) or "*")
    user = f"USER thor-bo bo thor bo + {NOW_MS} - :Bo"
    place = f"IN #ops thor-bo {NOW_MS} {NOW_MS}@thor"
    thor.say("STATE thor -", f"HAS {user}", f"HAS {place}", "STATEEND thor")
    return thor


def people_of(spark: Spark) -> set[str]:
    [(reader, _)] = spark.host.readers()
    assert ("thor-bo", "yes") in reader.heard
    return reader.people


def test_people_of_a_trusted_host_are_people_here():
    spark = Spark()
    thor = linked(spark)
    thor.say(said(1, "person"))
    assert not thor.closed
    assert people_of(spark) == {"thor-bo"}


def test_people_of_a_host_that_is_not_trusted_are_not():
    spark = Spark()
    spark.world.distrusted = frozenset({"thor"})
    spark.host = ServerHost(spark.world, spark.machine)
    thor = linked(spark)
    thor.say(said(1, "person"))
    assert not thor.closed
    assert people_of(spark) == set()


def test_a_limited_link_makes_nobody_a_person():
    spark = Spark("#ops")
    thor = linked(spark, "#ops")
    thor.say(said(1, "person"))
    assert not thor.closed
    assert people_of(spark) == set()


def test_an_agent_is_believed_to_be_one():
    spark = Spark()
    thor = linked(spark)
    thor.say(said(1, "agent"))
    assert people_of(spark) == set()
    user = spark.host.ircd.state.find_user("thor-bo")
    assert user is not None
    assert user.kind is SenderKind.AGENT


@pytest.mark.parametrize("claim", ["", "Person", "person@spark", "operator"])
def test_any_other_claim_ends_the_link(claim: str):
    thor = linked(Spark())
    thor.say(said(1, claim))
    assert "neither a person nor an agent" in thor.closed


@pytest.mark.parametrize("nick", ["spark-ori", "orin-bo"])
def test_nobody_is_vouched_for_by_another_host_than_their_own(nick: str):
    spark = Spark()
    thor = linked(spark)
    thor.say(said(1, "person", nick=nick))
    assert thor.closed
    [(reader, _)] = spark.host.readers()
    assert reader.people == set()


def halt(number: int, sign: str = "+", stamp: str = f"{NOW_MS}@thor", by: str = "thor-bo") -> str:
    tags = f"o=thor;n={GENERATION}.{number};t={NOW_MS};i="
    return f"@{tags} :*!*@thor HALT \\e {sign} {stamp} {by} :stop"


def is_halted(spark: Spark) -> bool:
    return spark.host.ircd.halts.current is not None


def relayed_halts(peer: TypedPeer) -> list[str]:
    return [line for line in peer.heard if " HALT " in line]


def test_a_trusted_host_halts_and_unhalts_and_others_learn_it_from_us():
    spark = Spark()
    thor, orin = linked(spark), TypedPeer(spark, "orin")
    orin.say("WANT 1 spark")
    thor.say(halt(1))
    assert is_halted(spark)
    [line] = relayed_halts(orin)
    assert f":*!*@spark HALT \\e + {NOW_MS}@thor thor-bo :stop" in line
    thor.say(halt(2), halt(3, "-", f"{NOW_MS - 1}@thor"))
    assert is_halted(spark)
    assert len(relayed_halts(orin)) == 1
    thor.say(halt(4, "-", f"{NOW_MS + 1}@thor"))
    assert not is_halted(spark)
    assert len(relayed_halts(orin)) == 2


def test_a_host_that_is_not_trusted_halts_nobody():
    spark = Spark()
    spark.world.distrusted = frozenset({"thor"})
    spark.host = ServerHost(spark.world, spark.machine)
    thor = linked(spark)
    thor.say(halt(1))
    assert not thor.closed
    assert not is_halted(spark)


def test_a_halt_over_a_limited_link_ends_it():
    spark = Spark("#ops")
    thor = linked(spark, "#ops")
    thor.say(halt(1))
    assert "more than the link is for" in thor.closed
    assert not is_halted(spark)


@pytest.mark.parametrize(
    "line",
    [
        halt(1, sign="x"),
        halt(1, stamp="soon"),
        halt(1, stamp=f"{NOW_MS + 3 * 86_400_000}@thor"),
        halt(1, by="a\\sb"),
        halt(1, by="\\e"),
        halt(1).replace(":*!*@thor", ":thor-bo!bo@thor"),
        halt(1).replace(":*!*@thor", ":*!*@spark"),
        halt(1).replace("HALT \\e", "HALT #ops"),
    ],
)
def test_a_malformed_halt_ends_the_link(line: str):
    spark = Spark()
    thor = linked(spark)
    thor.say(line)
    assert thor.closed
    assert not is_halted(spark)


def test_a_host_that_links_later_learns_of_the_halt_from_the_state():
    spark = Spark()
    thor = linked(spark)
    thor.say(halt(1))
    orin = TypedPeer(spark, "orin")
    orin.say("WANT 1 spark")
    assert f"HAS HALT + {NOW_MS}@thor thor-bo :stop" in orin.heard


def test_a_halt_in_a_state_counts_as_one():
    spark = Spark()
    spark.do("USER", "spark-ori")
    thor = TypedPeer(spark)
    thor.answer("WANT", "thor")
    thor.say("STATE thor -", f"HAS HALT + {NOW_MS}@thor thor-bo :stop", "STATEEND thor")
    assert not thor.closed
    assert is_halted(spark)


def chain() -> World:
    """spark and orin are linked to thor, and not to each other."""
    wires = {frozenset({"spark", "thor"}): Wire(), frozenset({"thor", "orin"}): Wire()}
    world = World(Random(0), wires, ServerHost)
    for name in world.machines:
        world.boot(name)
    world.run(3)
    return world


def host_of(world: World, name: str) -> ServerHost:
    process = world.machines[name].process
    assert isinstance(process, ServerHost)
    return process


def administer(world: World, name: str, line: str) -> None:
    """As culturectl does it."""
    ircd = host_of(world, name).ircd
    session = ircd.connect(name, "unix socket")
    session.is_administrator = True
    ircd.received(session, line.encode())
    ircd.disconnected(session, "done")
    world.turn(name)


def halted_hosts(world: World) -> set[str]:
    return {name for name in world.machines if host_of(world, name).ircd.halts.current is not None}


def test_a_halt_reaches_hosts_behind_others_also_after_a_split():
    world = chain()
    administer(world, "spark", "HALT mesh :stop")
    world.run(1)
    assert halted_hosts(world) == {"spark", "thor", "orin"}
    world.cut(frozenset({"thor", "orin"}))
    world.run(8)
    administer(world, "thor", "UNHALT mesh")
    world.run(1)
    assert halted_hosts(world) == {"orin"}
    world.mend(frozenset({"thor", "orin"}))
    world.run(70)
    assert halted_hosts(world) == set()


def test_a_halt_of_one_host_stays_there():
    world = chain()
    administer(world, "thor", "HALT host :stop")
    world.run(1)
    assert halted_hosts(world) == {"thor"}
    administer(world, "spark", "HALT mesh")
    administer(world, "spark", "UNHALT mesh")
    world.run(1)
    assert halted_hosts(world) == {"thor"}


def test_a_host_that_lost_its_state_learns_of_the_halt_again():
    world = chain()
    administer(world, "spark", "HALT mesh :stop")
    world.run(1)
    world.crash("orin")
    world.boot("orin")
    assert halted_hosts(world) == {"spark", "thor"}
    world.run(70)
    assert halted_hosts(world) == {"spark", "thor", "orin"}
