"""What a peer tells of the past is of earlier runs of a host, and nothing that its present hangs on."""

import pytest
from support.mesh.typed_peer import GENERATION, Spark, TypedPeer

# The highest counter that a number has room for.
LAST = (1 << 31) - 1


def event(origin: str, number: str, command: str = "PRIVMSG #ops :forged", *, msgid: str = "x") -> str:
    return f"@o={origin};n={number};t=1790000000000;i={msgid};r :{origin}-ori!ori@{origin} {command}"


@pytest.mark.parametrize(
    "number",
    [
        f"{GENERATION}.{LAST}",
        f"{GENERATION}.1",
        f"{GENERATION + 1}.1",
        f"{GENERATION + 900_000_000}.1",
    ],
)
def test_nobody_tells_a_host_what_happens_on_it_now(number: str) -> None:
    thor = TypedPeer(Spark())
    thor.answer("SEEK", "spark")

    thor.say(event("spark", number))

    assert thor.spark.said() == []
    assert f"generation {number.partition('.')[0]} of 'spark'" in thor.closed


def test_what_a_host_says_reaches_its_peers_whatever_was_told_of_its_past() -> None:
    spark = Spark()
    liar = TypedPeer(spark)
    liar.answer("SEEK", "spark")
    liar.say(event("spark", f"{GENERATION}.{LAST}"))
    orin = TypedPeer(spark, "orin")
    orin.say("WANT 1 spark")

    spark.do("USER", "spark-ori")
    spark.do("JOIN", "spark-ori", "#ops")
    spark.do("PRIVMSG", "spark-ori", "#ops", "still here")

    assert any(line.endswith(" PRIVMSG #ops :still here") for line in orin.heard)


def test_what_a_host_lost_of_earlier_runs_comes_back() -> None:
    thor = TypedPeer(Spark())
    thor.answer("SEEK", "spark")

    told = event("spark", f"{GENERATION - 1}.7", "PRIVMSG #ops :before the disk broke")
    thor.say(thor.spark.proved(told))

    assert thor.spark.said() == ["before the disk broke"]
    assert not thor.closed


def test_nobody_makes_up_what_was_said_on_a_host_in_earlier_runs() -> None:
    thor = TypedPeer(Spark())
    thor.answer("SEEK", "spark")
    true = thor.spark.proved(event("spark", f"{GENERATION - 1}.7", "PRIVMSG #ops :yes"))

    thor.say(event("spark", f"{GENERATION - 1}.8", "PRIVMSG #ops :forged"))
    thor.say(true.replace(":yes", ":forged"), true.replace(".7;", ".9;"), true.replace("#ops", "#secret"))
    thor.say(true.replace("spark-ori!", "spark-bo!"))

    assert thor.spark.said() == []


def test_of_a_host_that_is_there_others_tell_only_earlier_runs() -> None:
    spark = Spark()
    thor, orin = TypedPeer(spark), TypedPeer(spark, "orin")
    thor.lead_to("ec2")
    thor.say(f"HOST ec2 {GENERATION} 2 orin thor :")
    orin.say(f"HOST orin {GENERATION} 2 ec2 spark :")
    orin.answer("WANT", "ec2")
    thor.answer("SEEK", "ec2")

    thor.say(event("ec2", f"{GENERATION - 1}.9", "PRIVMSG #ops :long ago"))
    assert spark.said() == ["long ago"]
    thor.say(event("ec2", f"{GENERATION}.9"))

    assert spark.said() == ["long ago"]
    assert f"generation {GENERATION} of 'ec2'" in thor.closed


def test_of_a_host_that_is_linked_to_us_nobody_else_is_asked() -> None:
    spark = Spark()
    thor = TypedPeer(spark)
    TypedPeer(spark, "orin")

    assert not any(line.startswith(("WANT", "SEEK")) and "orin" in line for line in thor.heard)


def test_an_event_of_a_run_that_its_host_did_not_announce_is_not_taken() -> None:
    thor = TypedPeer(Spark())
    thor.lead_to("ec2")
    thor.answer("WANT", "ec2")

    thor.say(event("ec2", f"{GENERATION + 5}.1"))

    assert thor.spark.said() == []


def test_what_came_before_the_announcement_of_its_run_comes_again_after_it() -> None:
    """The line that announces a run and its events may come by two ways."""
    thor = TypedPeer(Spark())
    thor.lead_to("ec2")
    thor.answer("WANT", "ec2")
    thor.say(event("ec2", f"{GENERATION + 5}.1", "PRIVMSG #ops :first"))
    thor.say(f"HOST ec2 {GENERATION + 5} 1 thor :")
    thor.say(event("ec2", f"{GENERATION + 5}.2", "PRIVMSG #ops :second", msgid="y"))
    assert thor.spark.said() == []

    thor.spark.wait(6)
    thor.answer("WANT", "ec2")
    thor.say(event("ec2", f"{GENERATION + 5}.1", "PRIVMSG #ops :first"))
    thor.say(event("ec2", f"{GENERATION + 5}.2", "PRIVMSG #ops :second", msgid="y"))

    assert thor.spark.said() == ["first", "second"]


def test_one_event_with_an_absurd_number_does_not_silence_a_host_that_was_away() -> None:
    thor = TypedPeer(Spark())
    thor.say("HOST ec2 0 0 :")
    thor.answer("SEEK", "ec2")
    thor.say(event("ec2", f"{GENERATION + 100_000_000}.{LAST}", "PRIVMSG #ops :years ahead"))

    thor.lead_to("ec2")
    thor.answer("WANT", "ec2")
    thor.say(
        f"STATE ec2 {GENERATION}.4",
        "HAS USER ec2-kit kit ec2 * + 1790000000000 :Kit",
        "HAS IN #ops ec2-kit 1790000000001 1790000000001@ec2",
        "STATEEND ec2",
    )
    thor.say(f"@o=ec2;n={GENERATION}.5;t=1790000001000;i=y :ec2-kit!kit@ec2 PRIVMSG #ops :back again")

    assert thor.spark.host.ircd.state.find_user("ec2-kit") is not None
    assert "back again" in thor.spark.said()


@pytest.mark.parametrize("level", [f"{GENERATION + 1}.1", f"{GENERATION + 300_000_000}.{LAST}"])
def test_a_state_of_a_run_that_was_not_announced_does_not_silence_its_host(level: str) -> None:
    thor = TypedPeer(Spark())
    thor.answer("WANT", "thor")
    thor.say(f"STATE thor {level}", "STATEEND thor")

    thor.say(f"HOST thor {GENERATION + 1} 1 spark :")
    thor.say(event("thor", f"{GENERATION + 1}.1", "PRIVMSG #ops :first of this run"))

    assert thor.spark.said() == ["first of this run"]


def test_a_host_is_believed_about_its_own_numbers_after_another_lied_about_them() -> None:
    spark = Spark()
    liar = TypedPeer(spark)
    liar.lead_to("orin")
    liar.say(event("orin", f"{GENERATION}.{LAST}", "PRIVMSG #ops :not orin"))
    assert spark.said() == []

    orin = TypedPeer(spark, "orin")
    orin.say(f"HOST orin {GENERATION} 2 spark :")
    orin.answer("WANT", "orin")
    orin.say(f"STATE orin {GENERATION}.4", "STATEEND orin")
    orin.say(f"@o=orin;n={GENERATION}.5;t=1790000001000;i=y :orin-kit!kit@orin PRIVMSG #ops :the real one")

    assert spark.said()[-1] == "the real one"


def test_the_way_to_a_host_is_believed_about_its_numbers_after_a_minute() -> None:
    """Somebody on an earlier way lied; a peer that only lags behind catches up sooner than that."""
    spark = Spark()
    liar = TypedPeer(spark)
    liar.lead_to("ec2")
    liar.say(f"HOST ec2 {GENERATION} 2 thor -orin :")
    liar.answer("WANT", "ec2")
    liar.say(event("ec2", f"{GENERATION}.{LAST}", "PRIVMSG #ops :not ec2"))
    liar.say("ERROR :gone")
    orin = TypedPeer(spark, "orin")
    orin.lead_to("ec2")
    orin.say(f"HOST ec2 {GENERATION} 3 orin :")

    for _ in range(14):
        orin.answer("WANT", "ec2")
        orin.say(f"STATE ec2 {GENERATION}.4", "STATEEND ec2", "PONG spark")
        spark.wait(5)
    orin.say(f"@o=ec2;n={GENERATION}.5;t=1790000001000;i=y :ec2-kit!kit@ec2 PRIVMSG #ops :the real one")

    assert spark.said()[-1] == "the real one"
