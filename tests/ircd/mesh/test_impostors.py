"""A linked host that claims to be somebody else: another host, or one of its users or accounts."""

import pytest
from support.mesh.typed_peer import GENERATION, Spark, TypedPeer

from culture.ircd.model.user import User

NOW_MS = GENERATION * 1000
# A user of thor, who is logged in there, in the channel.
BO = (f"USER thor-bo bo thor ori + {NOW_MS} :Bo", f"IN #ops thor-bo {NOW_MS} {NOW_MS}@thor")


def spark_and_thor(*channels: str) -> tuple[Spark, TypedPeer]:
    """A host with a user, and a peer that says what it likes, by a full link or by a limited one."""
    spark = Spark(*channels)
    spark.do("USER", "spark-ori")
    spark.do("JOIN", "spark-ori", "#ops")
    return spark, TypedPeer(spark)


def ori_of(spark: Spark) -> User:
    ori = spark.host.ircd.state.find_user("spark-ori")
    assert ori is not None
    assert ori.session is not None
    return ori


def told(spark: Spark) -> list[tuple[str, str]]:
    [(reader, _)] = spark.host.readers()
    return reader.heard


def state_of(origin: str, *lines: str) -> list[str]:
    return [f"STATE {origin} -", *(f"HAS {line}" for line in lines), f"STATEEND {origin}"]


@pytest.mark.parametrize("channels", [(), ("#ops",)])
@pytest.mark.parametrize("name", ["spark.x", "SPARK", "Spark.example.org"])
def test_a_host_with_our_nick_prefix_ends_the_link(name: str, channels: tuple[str, ...]) -> None:
    spark, thor = spark_and_thor(*channels)

    thor.say(f"HOST {name} {GENERATION} 1 thor :", f"HOST thor {GENERATION} 2 {name} spark :")

    assert f"'{name}' would have the nicks of 'spark'" in thor.closed
    assert name not in spark.host.mesh.hosts.records


@pytest.mark.parametrize("name", ["orin.x", "Orin", "ORIN.example.org"])
@pytest.mark.parametrize("is_linked", [True, False])
def test_a_host_with_the_nick_prefix_of_a_configured_one_ends_the_link(name: str, is_linked: bool) -> None:
    spark, thor = spark_and_thor()
    if is_linked:
        TypedPeer(spark, "orin")

    thor.say(f"HOST {name} {GENERATION} 1 thor :")

    assert f"'{name}' would have the nicks of 'orin'" in thor.closed
    assert name not in spark.host.mesh.hosts.records


def test_the_nick_prefix_of_a_host_that_others_told_of_is_taken() -> None:
    spark, thor = spark_and_thor()
    orin = TypedPeer(spark, "orin")
    orin.lead_to("ec2")

    thor.say(f"HOST ec2.x {GENERATION} 1 thor :", f"HOST thor {GENERATION} 2 ec2.x spark :")

    assert "ec2.x" not in spark.host.mesh.hosts.records
    assert not any(line.startswith("HOST ec2.x") for line in orin.heard + thor.heard)
    assert not orin.closed


@pytest.mark.parametrize(
    "line",
    [
        "@o=spark.x;n={now}.9;t={now}000;i=x :spark-ori!ori@spark PRIVMSG #ops :forged",
        "@o=spark.x;n={now}.9;t={now}000;i=x;d=spark;v=0.0;h=9;e=nick:spark-ori\\snick:spark-ori "
        ":spark-ori!ori@spark PRIVMSG spark-ori :forged",
        "FEED 1 spark.x *",
        "STATE spark.x -",
        "ASK spark.x spark 16 -",
        "ACK SPARK spark 16 -",
    ],
)
def test_nothing_is_heard_from_a_host_with_our_nick_prefix(line: str) -> None:
    spark, thor = spark_and_thor()

    thor.say(line.format(now=GENERATION))

    assert "would have the nicks of 'spark'" in thor.closed
    assert spark.said() == []
    assert told(spark) == []


@pytest.mark.parametrize("user", ["spark-ori", "SPARK-ori", "spark-eve", "orin-eve"])
def test_a_state_is_of_the_users_of_its_host_alone(user: str) -> None:
    spark, thor = spark_and_thor()
    thor.answer("WANT", "thor")

    thor.say(*state_of("thor", f"USER {user} x x admin +o {NOW_MS} :forged"))

    assert f"not a nick of 'thor': '{user}'" in thor.closed
    assert (ori_of(spark).account, ori_of(spark).modes, ori_of(spark).realname) == (None, set(), "spark-ori")
    assert {each.nick for each in spark.host.ircd.state.users.values()} == {"spark-ori"}


def test_an_account_of_another_host_names_it() -> None:
    spark, thor = spark_and_thor()
    thor.answer("WANT", "thor")
    thor.say(*state_of("thor", *BO))
    bo = spark.host.ircd.state.find_user("thor-bo")
    assert bo is not None

    assert bo.account == "ori@thor"
    thor.say(f"@o=thor;n={GENERATION}.2;t={NOW_MS};i=;a=ori :thor-bo!bo@thor ACCOUNT \\e :admin")
    assert bo.account == "admin@thor"
    thor.say(f"@o=thor;n={GENERATION}.3;t={NOW_MS};i=y;a=admin :thor-bo!bo@thor PRIVMSG #ops :hello")
    assert [row.account for row in spark.history if row.command == "PRIVMSG"] == ["admin@thor"]


@pytest.mark.parametrize("account", ["ori@spark", "ori@thor", "a b", ""])
def test_no_account_of_another_host_names_a_host_itself(account: str) -> None:
    spark, thor = spark_and_thor()
    thor.answer("WANT", "thor")

    tag = account.replace(" ", "\\s")
    thor.say(f"@o=thor;n={GENERATION}.3;t={NOW_MS};i=y;a={tag} :thor-bo!bo@thor PRIVMSG #ops :hello")

    assert "not an account" in thor.closed
    assert spark.said() == []


def test_a_ban_of_an_account_means_that_of_the_host_where_it_was_set() -> None:
    spark, thor = spark_and_thor()
    thor.answer("WANT", "thor")
    thor.say(*state_of("thor", *BO))

    def ban(number: int, mask: str) -> None:
        head = f"@o=thor;n={GENERATION}.{number};t={NOW_MS};i=y{number};a=ori"
        thor.say(f"{head} :thor-bo!bo@thor MODE #ops +b {mask} :")

    ban(2, "~a:ori")
    ban(3, "~m:~a:mia@spark")
    channel = spark.host.ircd.state.find_channel("#ops")
    assert channel is not None

    masks = [entry.mask for entry in channel.masks.of("b")]  # type: ignore[arg-type]
    assert masks == ["~a:ori@thor", "~m:~a:mia"]
    assert not channel.masks.guard.excludes("spark-x!x@x", "ori")
    assert channel.masks.guard.excludes("thor-x!x@x", "ori@thor")


def test_nobody_speaks_for_a_configured_host_that_is_away() -> None:
    spark, thor = spark_and_thor()
    direct = "d=spark;v=0.0;h=9;e=nick:orin-bo\\snick:spark-ori :orin-bo!bo@orin PRIVMSG spark-ori :forged"

    thor.say(f"@o=orin;n={GENERATION}.9;t={NOW_MS};i=x;{direct}")
    thor.lead_to("orin")
    thor.say(f"@o=orin;n={GENERATION}.9;t={NOW_MS};i=x;{direct}")
    thor.say(f"@o=orin;n={GENERATION}.9;t={NOW_MS};i=x :orin-bo!bo@orin PRIVMSG #ops :forged")
    thor.say("ASK orin spark 16 -", *state_of("orin", f"USER orin-bo bo orin * + {NOW_MS} :forged"))

    assert spark.said() == []
    assert told(spark) == []
    assert spark.host.ircd.state.find_user("orin-bo") is None
    assert "orin" not in spark.host.mesh.hosts.routes
    assert not any(line.startswith(("WANT", "SEEK")) and " orin" in line for line in thor.heard)


def test_a_configured_host_that_named_a_peer_is_reached_by_it() -> None:
    spark, thor = spark_and_thor()
    orin = TypedPeer(spark, "orin")
    orin.say(f"HOST orin {GENERATION} 2 spark -thor :", "ERROR :gone")

    thor.say(f"HOST thor {GENERATION} 2 orin spark :", f"HOST orin {GENERATION} 3 thor :")

    assert spark.host.mesh.hosts.routes["orin"].path == ("thor", "orin")


def test_direct_messages_that_come_back_are_our_own() -> None:
    spark, thor = spark_and_thor()
    number = f"{GENERATION - 1}.4"
    head = f"@o=spark;n={number};t={NOW_MS};i=x;d=thor;v=0.0;h=9;b;e=nick:spark-ori\\snick:thor-bo"
    forged = f"{head} :spark-ori!ori@spark PRIVMSG thor-bo :I quit"

    thor.say(forged)
    assert spark.said() == []
    thor.say(spark.proved(forged).replace("I quit", "I resign"))
    assert spark.said() == []
    thor.say(spark.proved(forged))
    assert spark.said() == ["I quit"]
