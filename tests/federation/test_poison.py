"""Lines that are made to harm: absurd numbers, missing fields, forbidden tags, and lists without an end."""

import pytest
from support.mesh.typed_peer import GENERATION, Spark, TypedPeer

from culture.protocol.peers import validate

NOW_MS = GENERATION * 1000
YEAR_S = 365 * 86_400
HEAD = f"@o=thor;n={GENERATION}.2;t={NOW_MS};i=x"
SPEAKER = ":thor-bo!bo@thor PRIVMSG #ops :forged"


def levels_from(first: int) -> str:
    return ",".join(f"{each}.1" for each in range(first, first + 4000))


def linked() -> tuple[Spark, TypedPeer]:
    """A host with a user in #ops, and a peer of which it wants everything."""
    spark = Spark()
    spark.do("USER", "spark-ori")
    spark.do("JOIN", "spark-ori", "#ops")
    thor = TypedPeer(spark)
    thor.answer("WANT", "thor")
    return spark, thor


@pytest.mark.parametrize(
    "line",
    [
        f"HOST spark {GENERATION + 9 * YEAR_S} 1 thor :",
        f"HOST spark {GENERATION + 11 * YEAR_S} 1 thor :",
        f"HOST spark {GENERATION} {'9' * 4300} thor :",
        f"HOST thor {GENERATION} {'9' * 4300} spark :",
        f"HOST thor {'9' * 4300} 1 spark :",
        f"HOST thor {GENERATION} ٣ spark :",
        f"HOST ec2 {GENERATION} 1 :",
        f"HOST {'x' * 64} {GENERATION} 1 thor :",
        f"HOST ec2 {GENERATION} 1 {' '.join(f'h{each}' for each in range(200))} :",
        f"HOST ec2 {GENERATION} 1 thor=#a\tb :",
        f"HOST ec2 {GENERATION} 1 thor :{'x' * 2000}",
        f"HELD thor *={'9' * 4300}.1",
        "HELD th\tor *=1.1",
        f"WANT {'x' * 100} thor",
        "WANT 1 -",
        f"SEEK 1 thor {'9' * 4300}",
        f"STATE thor {'9' * 4300}.1",
        "STATEEND thor",
        f"FEED 1 thor #{'x' * 300}",
        f"ASK thor spark {'9' * 4300} -",
        "ASK thor spark 99 -",
        "ACK thor spark 1",
        f"PING {'x' * 1000}",
    ],
)
def test_a_line_that_no_host_says_costs_its_link_and_nothing_else(line: str) -> None:
    spark, thor = linked()
    orin = TypedPeer(spark, "orin")

    thor.say(line)
    spark.wait(3)

    assert thor.closed.startswith("Link broken: ")
    assert not orin.closed
    assert spark.host.mesh.hosts.own.generation == GENERATION
    assert spark.host.mesh.hosts.own.version < 100


def test_what_others_know_of_us_is_believed_within_reason() -> None:
    spark, thor = linked()

    thor.say(f"HOST spark {GENERATION + 60} 5 thor :")

    assert spark.host.mesh.hosts.own.generation == GENERATION + 61
    assert not thor.closed


@pytest.mark.parametrize(
    "line",
    [
        *(f"{HEAD};.{name}=x {SPEAKER}" for name in ("account", "time", "msgid", "batch", "label", "x/y")),
        f"{HEAD};.+x={'x' * 9000} {SPEAKER}",
        f"{HEAD};.+x={'x' * 60_000} {SPEAKER}",
        f"{HEAD};{';'.join(f'.+{each}=' for each in range(100))} {SPEAKER}",
        f"{HEAD};zz={'x' * 60_000} {SPEAKER}",
        f"{HEAD};.draft/relaymsg=spark-ori {SPEAKER}",
        f"{HEAD};.agentirc.dev/lines={'9' * 5000} {SPEAKER}",
        f"{HEAD};.agentirc.dev/stamp={'9' * 4300} :thor-bo!bo@thor TOPIC #ops :forged",
        f"{HEAD};a=ori@spark {SPEAKER}",
        f"{HEAD};c=+#ops {SPEAKER}",
        f"{HEAD} :thor-bo!bo@thor PRIVMSG #ops\tx :forged",
        f"{HEAD} :thor-bo!bo@thor PRIVMSG spark-ori\t1 :forged",
        f"{HEAD} :thor-bo!bo@thor PRIVMSG spark-ori :forged",
        f"{HEAD} :thor-bo!b\to@thor PRIVMSG #ops :forged",
        f"{HEAD} :thor-bo!@thor PRIVMSG #ops :forged",
        f"{HEAD} :thor-bo PRIVMSG #ops :forged",
        f"{HEAD} :*!*@thor PRIVMSG #ops :forged",
        f"{HEAD} :thor-bo!bo@thor KICK #ops spark-ori\tx :forged",
        f"{HEAD} :thor-bo!bo@thor MODE #ops +l abc :",
        f"{HEAD} :thor-bo!bo@thor MODE #ops +k a,b :",
        f"{HEAD} :thor-bo!bo@thor TOPIC #ops :{'x' * 5000}",
        f"{HEAD} :thor-bo!bo@thor USER \\e {NOW_MS} + - :{'x' * 5000}",
        f"{HEAD} :thor-bo!bo@thor USER \\e {'9' * 400} + - :Bo",
        f"{HEAD} :thor-bo!bo@thor CHGHOST \\e \\e host :",
        f"{HEAD} :thor-bo!bo@thor NICK \\e :spark-bo",
        f"@o=thor;n={GENERATION}.2;t={(GENERATION + YEAR_S) * 1000};i=x {SPEAKER}",
        f"@o=thor;n={GENERATION}.2;t={'9' * 4300};i=x {SPEAKER}",
        f"{HEAD};.agentirc.dev/stamp={(GENERATION + YEAR_S) * 1000} :thor-bo!bo@thor TOPIC #ops :forged",
        f"{HEAD} :*!*@thor KNOWN #ops :SET #ops topic - {(GENERATION + YEAR_S) * 1000}@thor + x 0 :forged",
    ],
)
def test_an_event_that_no_host_tells_is_neither_told_nor_written_down(line: str) -> None:
    spark, thor = linked()
    thor.say("STATE thor -", f"HAS USER thor-bo bo thor * + {NOW_MS} - :Bo", "STATEEND thor")
    before = [*spark.history]

    thor.say(line)
    spark.wait(1)

    assert thor.closed.startswith("Link broken: ")
    assert [*spark.history] == before
    [(reader, _)] = spark.host.readers()
    assert reader.heard == []


@pytest.mark.parametrize(
    "line",
    [
        f"USER thor-bo  thor * + {NOW_MS} - :Bo",
        f"USER thor-bo bo  * + {NOW_MS} - :Bo",
        "USER thor-bo bo thor * +",
        f"USER thor-bo bo thor a@b + {NOW_MS} - :Bo",
        f"USER thor-bo b\to thor * + {NOW_MS} - :Bo",
        f"USER thor-bo bo thor * +{'o' * 100} {NOW_MS} - :Bo",
        f"USER thor-bo bo thor * + {'9' * 4300} - :Bo",
        f"USER thor-bo bo thor * + {(GENERATION + YEAR_S) * 1000} - :Bo",
        f"USER thor-bo bo thor * + {NOW_MS} - - :Bo",
        f"IN #ops thor-nobody {NOW_MS} {NOW_MS}@thor",
        f"CHANNEL #ops {'9' * 4300} 0@",
        f"CHANNEL not-a-channel {NOW_MS} 0@",
        f"SET #ops l - {NOW_MS}@thor + x 0 :abc",
        f"SET #ops b - {NOW_MS}@thor + x 0 :",
        f"SET #ops metadata BAD {NOW_MS}@thor + x 0 :x",
        f"SET #ops topic - {(GENERATION + YEAR_S) * 1000}@thor + x 0 :forged",
        f"STAND #ops {NOW_MS}@thor 0@ o+{'9' * 400}@thor",
        f"STAND #ops {NOW_MS}@thor 0@ x+{NOW_MS}@thor",
        "x" * 5000,
    ],
)
def test_a_state_with_a_line_that_no_host_tells_changes_nothing(line: str) -> None:
    spark, thor = linked()

    thor.say("STATE thor -", f"HAS {line}", "STATEEND thor")

    assert thor.closed.startswith("Link broken: ")
    assert spark.host.ircd.state.find_user("thor-bo") is None
    channel = spark.host.ircd.state.find_channel("#ops")
    assert channel is not None
    assert channel.topic is None


def test_a_claim_that_uses_up_the_versions_of_a_host_begins_a_new_generation() -> None:
    """The peer may only repeat what a liar told it, and without versions left the host could say nothing."""
    spark, thor = linked()

    thor.say(f"HOST spark {GENERATION} {(1 << 53) - 1} thor :")

    assert thor.closed == ""
    own = spark.host.mesh.hosts.own
    assert (own.generation, own.version) == (GENERATION + 1, 1)
    assert any(line.startswith(f"HOST spark {GENERATION + 1} 1 thor") for line in thor.heard)


def test_a_time_that_is_too_far_ahead_does_not_end_the_link_of_who_passed_it_on() -> None:
    spark, thor = linked()
    thor.lead_to("ec2")
    thor.answer("WANT", "ec2")
    late = (GENERATION + YEAR_S) * 1000

    thor.say(f"@o=ec2;n={GENERATION}.2;t={late};i=x :ec2-bo!bo@ec2 PRIVMSG #ops :forged")
    thor.say("STATE ec2 -", f"HAS USER ec2-bo bo ec2 * + {late} - :Bo", "STATEEND ec2")

    assert spark.said() == []
    assert spark.host.ircd.state.find_user("ec2-bo") is None
    assert not thor.closed


@pytest.mark.parametrize(
    "lines",
    [
        [f"HOST g{each} {GENERATION} 1 thor :" for each in range(validate.HOSTS_BEHIND + 1)],
        [f"HELD g{each} *=1.1" for each in range(validate.HOSTS + 1)],
        [f"WANT {each} g{each}" for each in range(2 * validate.HOSTS + 1)],
        [
            f"HELD thor *={','.join(f'{each}.1' for each in range(at, at + 4000))}"
            for at in range(0, 104_000, 4000)
        ],
    ],
)
def test_lists_have_an_end(lines: list[str]) -> None:
    spark, thor = linked()

    thor.say(*lines)

    assert thor.closed.startswith("Link broken: ")
    assert len(spark.host.mesh.hosts.records) <= validate.HOSTS


def test_a_state_has_an_end() -> None:
    _, thor = linked()
    line = "HAS " + "x" * validate.STATE_LINE_LENGTH

    thor.say("STATE thor -")
    for _ in range(validate.STATE_BYTES // validate.STATE_LINE_LENGTH + 1):
        if not thor.closed:
            thor.say(line)

    assert "is too large" in thor.closed


def test_hosts_that_a_peer_made_up_are_forgotten_when_it_makes_up_more() -> None:
    spark, _ = linked()
    for round_of_lies in range(20):
        liar = TypedPeer(spark, "orin")
        liar.say(*(f"HOST g{round_of_lies}x{each} {GENERATION} 1 orin :" for each in range(60)))
        liar.say("ERROR :again")

    assert len(spark.host.mesh.hosts.records) <= 3 * validate.HOSTS
