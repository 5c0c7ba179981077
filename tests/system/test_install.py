"""The package on a host: what apt installs runs, an upgrade renews it, and what apt removes is gone."""

import asyncio
import shutil

import pytest
from support.irc import connected
from system.agents import IRC, SERVICE, SOCKET, USER, cli_processes, start_agent
from system.hostlab.host import Host
from system.package import Debs, install

pytestmark = [pytest.mark.system, pytest.mark.timeout(600)]

IRCD = ("culture-ircd.socket", "culture-ircd.service")
TARGETS = ("culture-agents.target", "culture.target")
# Where the system itself writes all the time, and where apt and dpkg note what there once was.
NOT_OURS = (
    "/dev", "/proc", "/root", "/run", "/sys", "/tmp",
    "/var/cache", "/var/lib/apt", "/var/lib/dpkg", "/var/log",
)  # fmt: skip
# The system user stays after a purge, as Debian's system users do.
OF_USERS = {f"/etc/{name}{old}" for name in ("passwd", "group", "shadow", "gshadow") for old in ("", "-")}


def files(host: Host) -> set[str]:
    pruned = " -o ".join(f"-path {path}" for path in NOT_OURS)
    return set(host.run("sh", "-c", rf"find / \( {pruned} \) -prune -o -print").stdout.splitlines())


def units(host: Host, *options: str) -> str:
    return host.systemctl("list-units", "--no-legend", *options, "culture*")


def test_apt_installs_the_server_and_starts_it(bare: Host, debs: Debs):
    install(bare, debs)

    assert [bare.property(unit, "ActiveState") for unit in (*IRCD, *TARGETS)] == ["active"] * 4
    assert [bare.property(unit, "UnitFileState") for unit in (*IRCD, *TARGETS)] == ["enabled"] * 4
    for unit in ("culture-bridge.socket", "culture-ircd-tls.socket", "culture-rehearsal.socket"):
        assert bare.property(unit, "ActiveState") == "inactive"
        assert bare.property(unit, "UnitFileState") == "disabled"
    assert bare.systemctl("list-units", "--failed", "--no-legend") == ""


async def test_an_upgrade_disconnects_nobody(spark: Host, debs: Debs):
    async with connected(spark.connect(6667), "spark-ori", "#a") as ori:
        before = spark.property("culture-ircd.service", "MainPID")
        await asyncio.to_thread(install, spark, debs, "--reinstall")
        assert spark.property("culture-ircd.service", "MainPID") != before
        ori.send("PING :still here")
        assert await ori.read() == ":spark PONG spark :still here"


def test_an_upgrade_renews_the_processes_and_keeps_the_sockets(spark: Host, debs: Debs):
    start_agent(spark)
    services, sockets = ("culture-ircd.service", SERVICE), ("culture-ircd.socket", SOCKET)
    before = [spark.property(unit, "MainPID") for unit in services]
    since = [spark.property(unit, "ActiveEnterTimestampMonotonic") for unit in sockets]

    install(spark, debs, "--reinstall")

    assert [spark.property(unit, "ActiveState") for unit in services] == ["active", "active"]
    after = [spark.property(unit, "MainPID") for unit in services]
    assert [old == new for old, new in zip(before, after, strict=True)] == [False, False]
    assert [spark.property(unit, "ActiveEnterTimestampMonotonic") for unit in sockets] == since
    assert spark.run(IRC, "--nick", "spark-claude", "whoami").stdout.startswith("spark-claude")


def test_an_upgrade_hands_over_what_all_agents_shared_in_version_0_1(spark: Host, debs: Debs):
    """The host is made to look as that version left it: one user, one directory of credentials."""
    start_agent(spark)
    keys = "    key_credential: anthropic\n    directory: /srv/project\n"
    spark.write("/etc/culture/agents.yaml", f"agents:\n  - nick: spark-claude\n{keys}")
    spark.write("/srv/project/notes", "mine\n")
    spark.write("/var/lib/culture/agents/spark-claude/notes", "mine\n")
    state, socket = "/var/lib/culture/agents/spark-claude", "/run/culture/spark-claude.sock"
    spark.run("chown", "-R", "culture-agent:culture-agent", "/srv/project", state, socket)
    for name in ("anthropic", "oper"):
        spark.write(f"/etc/culture/credentials/{name}", f"{name} secret\n")
    spark.write("/etc/culture/ircd.yaml", "opers: [{name: root, password_credential: oper}]\n")
    old = "[Service]\nLoadCredential=\nLoadCredential=anthropic:/etc/culture/credentials/anthropic\n"
    drop_in = f"/etc/systemd/system/{SERVICE}.d/50-agents-yaml.conf"
    spark.write(drop_in, f'{old}BindPaths="/srv/project"\nReadWritePaths="/srv/project"\n')

    install(spark, debs, "--reinstall")

    assert spark.property(SERVICE, "ActiveState") == "active"
    assert spark.property(SERVICE, "User") == USER
    for path in ("/srv/project/notes", f"{state}/notes", f"{state}/agent.db", socket):
        assert spark.run("stat", "--format=%U %G", path).stdout == f"{USER} {USER}\n"
    credentials = spark.path("/etc/culture/credentials")
    assert (credentials / "agents/spark-claude/anthropic").read_text() == "anthropic secret\n"
    assert {each.name for each in credentials.iterdir()} == {"agents", "bridge", "oper"}
    assert "LoadCredential" not in spark.path(drop_in).read_text()
    for unit, loaded in {SERVICE: {"culture_anthropic"}, "culture-ircd.service": {"culture_oper"}}.items():
        files = set(spark.run("ls", f"/run/credentials/{unit}").stdout.split())
        assert {name for name in files if "_" in name} == loaded
    asked = spark.run("runuser", "--user", USER, "--", IRC, "--nick", "spark-claude", "whoami")
    assert asked.stdout.endswith(" working in /srv/project\n")


def test_a_new_sdk_alone_renews_the_agents(spark: Host, debs: Debs):
    start_agent(spark)
    server, agent = (spark.property(unit, "MainPID") for unit in ("culture-ircd.service", SERVICE))

    shutil.copy(debs.claude, spark.path("/root"))
    spark.run("apt-get", "install", "--yes", "--reinstall", f"/root/{debs.claude.name}")

    assert spark.property(SERVICE, "MainPID") not in ("0", agent)
    assert spark.property("culture-ircd.service", "MainPID") == server


def test_remove_stops_everything_and_purge_leaves_nothing(bare: Host, debs: Debs):
    before = files(bare)
    install(bare, debs)
    bare.write("/etc/culture/credentials/claude", "secret\n")
    start_agent(bare)
    bare.systemctl("start", "culture-rehearsal.service")

    bare.run("apt-get", "remove", "--yes", "culture", "culture-claude")
    assert units(bare) == ""
    assert cli_processes(bare) == set()
    assert not bare.path("/run/culture").exists()
    assert bare.path("/etc/culture/agents.yaml").exists()
    assert bare.path("/etc/culture/credentials/claude").exists()
    assert bare.path("/var/lib/culture/agents/spark-claude").exists()

    bare.run("apt-get", "purge", "--yes", "culture", "culture-claude")
    assert files(bare) - before - OF_USERS == set()
    assert before - files(bare) == set()
    assert units(bare, "--all") == ""
    users = f"culture,culture-agent,{USER}"
    assert bare.run("pgrep", "--euid", users, check=False).stdout == ""
