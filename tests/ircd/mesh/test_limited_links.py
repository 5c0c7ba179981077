"""A link that is limited to some channels writes in these channels, and nowhere else."""

import pytest
from support.mesh.typed_peer import GENERATION, Spark, TypedPeer

from culture.names import fold
from culture.protocol.event_record import EventRecord


def limited() -> tuple[Spark, TypedPeer]:
    """A host with a secret channel, and a peer whose link is limited to #ops."""
    spark = Spark("#ops")
    spark.do("USER", "spark-ori")
    for channel in ("#secret", "#ops"):
        spark.do("JOIN", "spark-ori", channel)
    spark.do("MODE", "spark-ori", "#secret", "+s")
    spark.do("PRIVMSG", "spark-ori", "#secret", "the plan")
    return spark, TypedPeer(spark)


def event(origin: str, number: str, rest: str, *, tags: str = "", nick: str = "") -> str:
    who = nick or f"{origin}-bo"
    return f"@o={origin};n={number};t=1790000000000;i=x{number}{tags} :{who}!bo@{origin} {rest}"


OUTSIDE = [
    ("PRIVMSG #secret :forged", ""),
    ("PRIVMSG @#secret :forged", ""),
    ("PRIVMSG spark-ori :forged", ""),
    ("PRIVMSG spark-ori :forged", ";c=+#ops"),
    ("PRIVMSG spark-ori :forged", ";e=account:a\\saccount:b"),
    ("PRIVMSG #ops :forged", ";e=nick:spark-ori\\snick:spark-bo"),
    ("PRIVMSG #ops :forged", ";c=+#secret"),
    ("PRIVMSG #secret :forged", ";c=+#ops"),
    ("QUIT \\e :forged", ";c=+#ops,-#secret"),
    ("NICK \\e :thor-kit", ";c=-#secret"),
    ("TOPIC #secret :forged", ""),
    ("MODE #secret -s :", ""),
    ("KICK #secret spark-ori :forged", ""),
    ("REDACT #secret x :forged", ""),
    ("RENAME #secret #ops :forged", ""),
    ("RENAME #ops #secret :forged", ""),
    ("RENAME #ops #Ops :forged", ""),
    ("MEMBERS #ops \\e \\e :", ""),
    ("JOIN #secret :Bo", ""),
    ("INVITE #secret spark-ori :", ""),
    ("KNOWN #secret :CHANNEL #secret 1 0@", ""),
    ("META spark-ori key + :forged", ""),
    ("META spark-ori key + :forged", ";c=+#ops"),
    ("KILL spark-ori :forged", ";c=+#ops"),
    ("WALLOPS \\e :forged", ""),
    ("WALLOPS \\e :forged", ";c=+#ops"),
    ("ACCOUNT \\e :admin", ";c=+#ops"),
    ("USER \\e 1790000000000 + :forged", ";c=+#ops"),
]


def untouched(spark: Spark, before: list[EventRecord]) -> None:
    """Nothing is in history that was not, and the secret channel is as it was."""
    assert list(spark.history) == before
    secret, ori = spark.host.ircd.state.find_channel("#secret"), spark.host.ircd.state.find_user("spark-ori")
    assert secret is not None
    assert ori is not None
    assert (set(secret.flags), secret.topic, list(secret.members)) == ({"n", "s", "t"}, None, [ori])
    assert ori.metadata == {}
    assert fold("#ops") in ori.channels


@pytest.mark.parametrize("origin", ["spark", "thor"])
@pytest.mark.parametrize(("rest", "tags"), OUTSIDE)
def test_the_past_is_told_within_the_channels_of_the_link(origin: str, rest: str, tags: str) -> None:
    spark, thor = limited()
    before = list(spark.history)
    if origin == "thor":
        # The route to it leads elsewhere, so this link is asked for its past only.
        thor.say("HOST ec2 0 0 :")
        origin = "ec2"
    thor.answer("SEEK", origin)

    thor.say(event(origin, f"{GENERATION - 9}.1", rest, tags=f"{tags};r"))

    untouched(spark, before)
    assert thor.closed


@pytest.mark.parametrize("tags", ["", ";r"])
@pytest.mark.parametrize(("rest", "more"), OUTSIDE)
def test_what_happens_is_told_within_the_channels_of_the_link(rest: str, more: str, tags: str) -> None:
    spark, thor = limited()
    before = list(spark.history)
    thor.answer("WANT", "thor")
    thor.say("STATE thor -", "STATEEND thor")

    thor.say(event("thor", f"{GENERATION}.1", rest, tags=more + tags))

    untouched(spark, before)
    assert thor.closed


@pytest.mark.parametrize(
    "tags",
    [
        ";d=spark;v=0.0;h=16;e=nick:thor-bo\\snick:spark-ori",
        ";d=spark;v=0.0;h=16;e=nick:thor-bo\\snick:spark-ori;c=+#ops",
    ],
)
def test_no_direct_message_comes_by_a_limited_link(tags: str) -> None:
    spark, thor = limited()
    before = list(spark.history)

    thor.say(event("thor", f"{GENERATION}.1", "PRIVMSG spark-ori :psst", tags=tags))

    untouched(spark, before)


def test_no_direct_message_comes_from_behind_a_limited_link() -> None:
    spark, _ = limited()
    orin = TypedPeer(spark, "orin")
    before = list(spark.history)

    tags = ";d=spark;v=0.0;h=16;e=nick:thor-bo\\snick:spark-ori"
    orin.say(event("thor", f"{GENERATION}.1", "PRIVMSG spark-ori :psst", tags=tags))

    untouched(spark, before)


def test_a_direct_message_that_comes_back_is_not_of_this_run() -> None:
    """The numbers of this run are given here: one that a peer made up would stop all that follow."""
    spark = Spark()
    orin = TypedPeer(spark, "orin")
    tags = ";d=orin;v=0.0;h=16;e=nick:spark-ori\\snick:orin-kit;b"
    orin.say(event("spark", f"{GENERATION}.{(1 << 31) - 1}", "PRIVMSG orin-kit :forged", tags=tags))
    assert spark.said() == []
    assert "which is not over" in orin.closed

    orin = TypedPeer(spark, "orin")
    orin.say("ACK orin spark 16 -")
    spark.do("USER", "spark-ori")
    orin.answer("WANT", "orin")
    orin.say(f"STATE orin {GENERATION}.1", "HAS USER orin-kit kit orin * + 1 :Kit", "STATEEND orin")
    spark.do("PRIVMSG", "spark-ori", "orin-kit", "hello")

    assert any(line.endswith("PRIVMSG orin-kit :hello") for line in orin.heard)


@pytest.mark.parametrize(
    "lines",
    [
        ["CHANNEL #secret 1 0@", "SET #secret topic - 9999999999999@thor + thor-bo 1 :forged"],
        ["USER thor-bo bo thor * + 1 :Bo", "IN #secret thor-bo 1 2@thor"],
        ["STAND #secret 1@spark 9999999999999@thor"],
        ["USER thor-bo bo thor * + 1 :Bo"],
        ["USER thor-bo bo thor admin +o 1 :Bo"],
    ],
)
def test_a_snapshot_is_of_the_channels_of_the_link(lines: list[str]) -> None:
    spark, thor = limited()
    before = list(spark.history)
    thor.answer("WANT", "thor")

    thor.say("STATE thor -", *(f"HAS {line}" for line in lines), "STATEEND thor")

    untouched(spark, before)
    assert thor.closed
    assert spark.host.ircd.state.find_user("thor-bo") is None


def test_a_redaction_is_of_the_channel_that_it_names() -> None:
    spark, thor = limited()
    orin = TypedPeer(spark, "orin")
    for peer in (thor, orin):
        peer.answer("WANT", peer.name)
        peer.say(f"STATE {peer.name} -", f"STATEEND {peer.name}")
    orin.say(event("orin", f"{GENERATION}.1", "USER \\e 1790000000000 + :Kit", nick="orin-kit"))
    orin.say(event("orin", f"{GENERATION}.2", "JOIN #secret :Kit", nick="orin-kit"))

    thor.say(event("thor", f"{GENERATION}.1", f"REDACT #ops x{GENERATION}.3 :gone"))
    orin.say(event("orin", f"{GENERATION}.3", "PRIVMSG #secret :still to be read", nick="orin-kit"))

    (reader,) = [each for session, each in spark.host.clients.items() if session.user.nick == "spark-ori"]
    assert ("#secret", f"x{GENERATION}.3") in reader.messages


def test_what_is_within_the_channels_is_taken() -> None:
    spark, thor = limited()
    thor.answer("WANT", "thor")
    thor.say(
        "STATE thor -",
        "HAS USER thor-bo bo thor * + 1 :Bo",
        "HAS IN #ops thor-bo 1 2@thor",
        "STATEEND thor",
    )
    thor.say(event("thor", f"{GENERATION}.1", "PRIVMSG #ops :hello"))
    thor.say(event("thor", f"{GENERATION}.2", "PRIVMSG @#ops :hello, operators"))
    thor.say(event("thor", f"{GENERATION}.3", "QUIT \\e :bye", tags=";c=+#ops"))
    thor.answer("SEEK", "spark")
    thor.say(spark.proved(event("spark", f"{GENERATION - 1}.1", "PRIVMSG #ops :long ago", tags=";r")))

    assert spark.said() == ["the plan", "hello", "hello, operators", "long ago"]
    assert spark.host.ircd.state.find_user("thor-bo") is None
    assert not thor.closed


@pytest.mark.parametrize(
    ("origin", "rest", "tags"),
    [
        ("spark", "PRIVMSG ec2-kit :forged", ";d=ec2;v=0.0;h=16;e=nick:spark-ori\\snick:ec2-kit;b"),
        ("ec2", "PRIVMSG thor-bo :forged", ";d=spark;v=0.0;h=16;e=nick:ec2-kit\\snick:thor-bo"),
    ],
)
def test_a_forged_direct_message_does_not_end_the_link_of_the_host_that_carries_it(
    origin: str, rest: str, tags: str
) -> None:
    spark = Spark()
    orin = TypedPeer(spark, "orin")
    orin.lead_to("ec2")

    orin.say(event(origin, f"{GENERATION}.1", rest, tags=tags))

    assert orin.closed == ""
    assert spark.said() == []
