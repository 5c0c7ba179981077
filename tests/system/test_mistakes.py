"""What an operator gets wrong: it is refused with what to type, and forgotten once it is mended."""

import pytest
from support.irc import connected
from system.agents import SERVICE, SOCKET, start_agent
from system.hostlab.host import Host
from system.hostlab.waiting import eventually

pytestmark = [pytest.mark.system, pytest.mark.timeout(600)]

IRCD = "culture-ircd.service"
CONFIG = "/etc/culture/ircd.yaml"
AGENTS = "/etc/culture/agents.yaml"


def status(host: Host, unit: str) -> str:
    return host.run("systemctl", "status", "--full", "--lines=30", unit, check=False).stdout


def failed_units(host: Host) -> str:
    return host.systemctl("list-units", "--failed", "--no-legend", "--plain")


def is_over(host: Host) -> bool:
    """Whether what is started when an agent fails has said what it has to say."""
    return host.property("culture-agent-failed@spark-claude.service", "ActiveState") == "inactive"


async def test_a_reload_with_a_mistake_in_the_file_fails_says_why_and_changes_nothing(spark: Host):
    async with connected(spark.connect(6667), "spark-ori", "#general") as ori:
        spark.write(CONFIG, "motd: hello\nno_such_key: 1\n")

        reloaded = spark.run("systemctl", "reload", IRCD, check=False)

        assert reloaded.returncode != 0
        assert f"{CONFIG}:2: unknown key 'no_such_key'" in status(spark, IRCD)
        assert spark.property(IRCD, "ActiveState") == "active"
        ori.send("MOTD")
        assert "hello" not in await ori.until(" 372 ")

        spark.write(CONFIG, "motd: hello\n")
        spark.systemctl("reload", IRCD)
        await ori.until(" 376 ")
        ori.send("MOTD")
        assert (await ori.until(" 372 ")).endswith("- hello")
    assert failed_units(spark) == ""


def test_a_restart_with_a_mistake_in_the_file_says_why_and_leaves_nothing_degraded_once_it_is_mended(
    spark: Host,
):
    spark.write(CONFIG, "no_such_key: 1\n")

    assert spark.run("systemctl", "restart", IRCD, check=False).returncode != 0

    told = f"{CONFIG}:1: unknown key 'no_such_key'"
    assert told in status(spark, IRCD)
    assert told in spark.property(IRCD, "StatusText")
    spark.write(CONFIG, "")
    spark.systemctl("restart", IRCD)
    assert failed_units(spark) == ""
    spark.connect(6667).close()


async def test_whoever_connects_to_an_installed_server_reads_what_to_do(spark: Host):
    async with connected(spark.connect(6667), "spark-ori") as ori:
        shipped = spark.path("/etc/culture/motd").read_text().splitlines()
        assert (await ori.until(" 372 ")).endswith(f"- {shipped[0]}")


# What agents.yaml says of the agent; what is missing; what its unit and culturectl say; what mends it.
MISSING = {
    "user": (
        "user: nobody-here",
        "there is no user 'nobody-here'",
        ["useradd", "--create-home", "nobody-here"],
    ),
    "directory": (
        "directory: /srv/nowhere",
        "the directory '/srv/nowhere' does not exist",
        ["install", "-d", "-o", "culture-spark-claude", "/srv/nowhere"],
    ),
    "credential": (
        "key_credential: model",
        "the credential 'model' is not in /etc/culture/credentials/agents/spark-claude",
        [
            "install",
            "-D",
            "-m",
            "0600",
            "/etc/os-release",
            "/etc/culture/credentials/agents/spark-claude/model",
        ],
    ),
}


@pytest.mark.parametrize("what", MISSING)
def test_what_an_agent_lacks_is_reported_with_a_hint_until_it_is_there(spark: Host, what: str):
    key, told, mend = MISSING[what]
    start_agent(spark)
    spark.write(AGENTS, f"agents:\n  - nick: spark-claude\n    {key}\n")

    checked = spark.run("culturectl", "units", check=False)
    assert checked.returncode == 78
    assert f"agent 'spark-claude': {told}\nhint: " in checked.stderr
    assert spark.run("systemctl", "restart", SERVICE, check=False).returncode != 0
    eventually(
        lambda: told in status(spark, SERVICE),
        within_s=30,
        what="the status of the unit says what is missing",
    )
    assert told in spark.run("culturectl", "status", "spark-claude", check=False).stderr
    assert spark.property(SERVICE, "NRestarts") == "0"
    eventually(lambda: is_over(spark), within_s=40, what="its channels were told, or not")

    spark.run(*mend)
    spark.systemctl("restart", SERVICE)
    assert spark.run("culturectl", "units").stderr == ""
    assert failed_units(spark) == ""
    assert spark.systemctl("is-system-running").strip() == "running"


def test_a_removed_agent_leaves_no_units_and_no_drop_ins_behind(spark: Host):
    start_agent(spark, "memory_max: 2G")
    spark.write(AGENTS, "agents: []\n")

    done = spark.run("culturectl", "units")

    assert "spark-claude is not in /etc/culture/agents.yaml" in done.stderr
    for unit in (SERVICE, SOCKET):
        assert spark.property(unit, "ActiveState") == "inactive"
    assert spark.run("pgrep", "--euid", "culture-spark-claude", check=False).stdout == ""
    left = spark.run("find", "/etc/systemd/system", "/run/culture", "-name", "*spark-claude*").stdout
    assert left == ""
    assert spark.path("/var/lib/culture/agents/spark-claude/agent.db").exists()
    assert spark.run("culturectl", "units").stdout == ""


def test_a_user_of_its_own_is_made_again_when_somebody_removed_it(spark: Host):
    start_agent(spark)
    uid = spark.run("id", "-u", "culture-spark-claude").stdout
    spark.systemctl("stop", SERVICE, SOCKET)
    spark.run("userdel", "culture-spark-claude")

    spark.systemctl("start", SERVICE)

    assert spark.property(SERVICE, "ActiveState") == "active"
    assert spark.run("id", "-u", "culture-spark-claude").stdout == uid


def test_a_credential_may_be_encrypted_for_the_host(spark: Host):
    place = "/etc/culture/credentials.encrypted/agents/spark-claude"
    spark.run("mkdir", "-p", place)
    encrypt = f"printf key | systemd-creds encrypt --with-key=host --name=secret_model - {place}/model"
    spark.run("sh", "-c", encrypt)

    start_agent(spark, "key_credential: model")

    assert spark.property(SERVICE, "ActiveState") == "active"
