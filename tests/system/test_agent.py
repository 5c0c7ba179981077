"""An agent as a service: the real CLI, on the rehearsal model."""

import pytest
from support.irc import connected
from system.agents import IRC, SERVICE, SOCKET, USER, cli_processes, start_agent
from system.hostlab.host import Host
from system.hostlab.waiting import eventually

from culture.systemd.journal import MESSAGE_IDS

pytestmark = [pytest.mark.system, pytest.mark.timeout(600)]


@pytest.fixture
def claude(spark: Host) -> Host:
    """A host where spark-claude is ready."""
    start_agent(spark)
    return spark


async def test_a_mention_is_answered_in_the_channel(claude: Host):
    async with connected(claude.connect(6667), "spark-ori", "#general") as ori:
        ori.send("PRIVMSG #general :@spark-claude hello")
        answer = await ori.until(":spark-claude!")
        assert " PRIVMSG #general :spark-ori" in answer


async def test_the_status_and_the_journal_tell_the_story_of_the_turn(claude: Host):
    eventually(
        lambda: 'Status: "idle in #general' in claude.systemctl("status", SERVICE),
        within_s=5,
        what="the status says where it is",
    )
    async with connected(claude.connect(6667), "spark-ori", "#general") as ori:
        ori.send("PRIVMSG #general :@spark-claude hello")
        await ori.until(":spark-claude!")

    def ends() -> list[dict[str, str]]:
        return claude.journal(f"MESSAGE_ID={MESSAGE_IDS['turn-ended']}", "CULTURE_NICK=spark-claude")

    (end,) = eventually(ends, within_s=10, what="the journal has the end of the turn")
    story = claude.journal(f"CULTURE_TURN={end['CULTURE_TURN']}")
    assert [entry["MESSAGE_ID"] for entry in story] == [MESSAGE_IDS["turn-began"], MESSAGE_IDS["turn-ended"]]
    for entry in story:
        assert entry["_SYSTEMD_UNIT"] == SERVICE
        assert entry["SYSLOG_IDENTIFIER"] == "culture-agent"
        assert entry["CULTURE_NICK"] == "spark-claude"
        assert entry["CULTURE_CHANNEL"] == "#general"
        assert entry["CULTURE_PEER"] == "spark-ori"
        assert entry["CULTURE_BACKEND"] == "claude"
    assert end["CULTURE_OUTCOME"] == "answered"
    assert int(end["CULTURE_DURATION_MS"]) > 0
    # A rehearsal costs nothing.
    assert end["CULTURE_COST_USD"] == "0.000000"
    eventually(
        lambda: "1 turn, last answered in" in claude.property(SERVICE, "StatusText"),
        within_s=5,
        what="the status tells of the turn",
    )


def test_a_skill_call_while_the_agent_restarts_waits_for_it(claude: Host):
    process = claude.property(SERVICE, "MainPID")
    claude.systemctl("restart", "--no-block", SERVICE)
    eventually(
        lambda: claude.property(SERVICE, "MainPID") != process, within_s=20, what="the first process is gone"
    )

    asked = claude.run(IRC, "--nick", "spark-claude", "whoami")

    assert asked.stdout.startswith("spark-claude, connected to 127.0.0.1:6667")


def test_a_killed_agent_leaves_no_cli_behind_and_comes_back(claude: Host):
    process, clis = claude.property(SERVICE, "MainPID"), cli_processes(claude)
    assert clis

    claude.systemctl("kill", "--kill-whom=main", "--signal=KILL", SERVICE)

    eventually(lambda: not clis & cli_processes(claude), within_s=5, what="its CLI is gone too")
    eventually(
        lambda: (
            claude.property(SERVICE, "ActiveState") == "active"
            and claude.property(SERVICE, "MainPID") != process
        ),
        within_s=30,
        what="the agent is back",
    )


def test_a_hung_agent_is_killed_by_the_watchdog_with_its_cli(spark: Host):
    spark.write(
        f"/etc/systemd/system/{SERVICE}.d/fast.conf", "[Service]\nWatchdogSec=2s\nTimeoutAbortSec=1s\n"
    )
    start_agent(spark)
    clis = cli_processes(spark)

    spark.systemctl("kill", "--kill-whom=main", "--signal=STOP", SERVICE)

    eventually(lambda: not clis & cli_processes(spark), within_s=10, what="its CLI is gone")
    assert any("Watchdog timeout" in entry["MESSAGE"] for entry in spark.journal(f"UNIT={SERVICE}"))


def test_an_agent_that_is_not_configured_is_refused_once(spark: Host):
    unit = "culture-agent@spark-nobody.service"

    started = spark.run("systemctl", "start", unit, check=False)

    assert started.returncode != 0
    assert spark.property(unit, "ExecMainStatus") == "78"
    assert spark.property(unit, "NRestarts") == "0"
    status = spark.run("systemctl", "status", unit, check=False).stdout
    assert "/etc/culture/agents.yaml: no agent 'spark-nobody'" in status


def test_only_its_own_user_reaches_its_socket(claude: Host):
    listed = claude.run("stat", "--format=%a %U %G", "/run/culture/spark-claude.sock").stdout
    assert listed == f"600 {USER} {USER}\n"


def test_it_cannot_signal_the_server(claude: Host):
    server = claude.property("culture-ircd.service", "MainPID")
    as_agent = ("runuser", "--user", USER, "--", "kill", "-0")

    assert claude.run(*as_agent, server, check=False).returncode != 0
    assert claude.run(*as_agent, claude.property(SERVICE, "MainPID"), check=False).returncode == 0


def test_it_writes_to_its_own_directory_and_sees_neither_homes_nor_the_state_of_others(claude: Host):
    claude.write("/home/ori/letter", "dear diary\n")
    claude.write("/var/lib/culture/agents/spark-bo/letter", "dear diary\n")
    inside = ["nsenter", f"--target={claude.property(SERVICE, 'MainPID')}", "--mount", "--"]

    def is_possible(*command: str) -> bool:
        return claude.run(*inside, *command, check=False).returncode == 0

    assert is_possible("touch", "/var/lib/culture/agents/spark-claude/work/note")
    assert not is_possible("ls", "/var/lib/culture/ircd")
    assert not is_possible("cat", "/var/lib/culture/agents/spark-bo/letter")
    assert not is_possible("touch", "/etc/culture/note")
    assert not is_possible("cat", "/home/ori/letter")


def test_it_is_the_user_that_agents_yaml_names_and_sees_the_project_and_its_own_key(spark: Host):
    spark.run("useradd", "--create-home", "ori")
    spark.run("runuser", "--user", "ori", "--", "mkdir", "/home/ori/project", "/home/ori/diary")
    for place in ("agents/spark-claude/anthropic", "agents/spark-bo/anthropic", "mesh"):
        spark.write(f"/etc/culture/credentials/{place}", "secret\n")

    start_agent(
        spark,
        *("user: ori", "directory: /home/ori/project", "memory_max: 2G", "key_credential: anthropic"),
    )

    process = spark.property(SERVICE, "MainPID")
    assert spark.property(SERVICE, "User") == "ori"
    assert spark.property(SERVICE, "MemoryMax") == str(2 * 1024**3)
    inside = ["nsenter", f"--target={process}", "--mount", "--", "runuser", "--user", "ori", "--"]
    assert spark.run(*inside, "ls", "/home/ori").stdout == "project\n"
    spark.run(*inside, "touch", "/home/ori/project/note")
    assert spark.run("stat", "--format=%U", "/home/ori/project/note").stdout == "ori\n"
    loaded = spark.run(*inside, "ls", f"/run/credentials/{SERVICE}").stdout
    assert loaded.split() == ["culture", "culture_anthropic", "secret"]
    listed = spark.run("stat", "--format=%a %U", "/run/culture/spark-claude.sock").stdout
    assert listed == "600 ori\n"
    assert spark.property(SERVICE, "RemoveIPC") == "no"
    assert spark.run("culturectl", "units").stdout == ""


def test_stopping_all_agents_at_once_is_one_command(claude: Host):
    claude.systemctl("stop", "culture-agents.target")

    for unit in (SERVICE, SOCKET):
        eventually(
            lambda unit=unit: claude.property(unit, "ActiveState") == "inactive",
            within_s=20,
            what=f"{unit} has stopped",
        )
    assert not claude.path("/run/culture/spark-claude.sock").exists()
    assert claude.property("culture-ircd.service", "ActiveState") == "active"

    claude.systemctl("start", "culture-agents.target")
    eventually(
        lambda: claude.property(SERVICE, "ActiveState") == "active", within_s=20, what="the agent is back"
    )
