"""A linked host that lies about its own users gains no authority here."""

import pytest
from support.mesh.server import ServerHost
from support.mesh.typed_peer import GENERATION, Spark, TypedPeer

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
