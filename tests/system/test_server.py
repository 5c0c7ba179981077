"""The IRC server as a service."""

import contextlib
import signal

import pytest
from support.irc import connected
from system.hostlab.host import Host
from system.hostlab.waiting import eventually

from culture.net.sockets.batch_io import MIN_SOCKETS

pytestmark = [pytest.mark.system, pytest.mark.timeout(600)]

SERVICE, SOCKET = "culture-ircd.service", "culture-ircd.socket"


async def test_after_a_boot_people_reach_it_over_ipv4_ipv6_and_the_unix_socket(spark: Host):
    async with (
        connected(spark.connect(6667), "spark-ori", "#general") as ori,
        connected(spark.connect(6667, "::1"), "spark-bo", "#general") as bo,
        connected(spark.connect_unix("/run/culture/ircd.sock"), "spark-kit", "#general") as kit,
    ):
        ori.send("PRIVMSG #general :good morning")
        for other in (bo, kit):
            assert await other.until(" PRIVMSG #general :good morning")


async def test_systemctl_status_says_what_it_is_doing(spark: Host):
    async with connected(spark.connect(6667), "spark-ori", "#general"):
        eventually(
            lambda: 'Status: "spark: 1 client in 1 channel"' in spark.systemctl("status", SERVICE),
            within_s=5,
            what="the status tells of the client",
        )


async def test_a_reload_renews_its_configuration_and_disconnects_nobody(spark: Host):
    async with connected(spark.connect(6667), "spark-ori") as ori:
        await ori.until(" 376 ")
        spark.write("/etc/culture/ircd.yaml", "motd: fresh paint\n")
        spark.systemctl("reload", SERVICE)
        ori.send("MOTD")
        assert (await ori.until(" 372 ")).endswith(":- fresh paint")


def test_a_server_with_credentials_can_be_reloaded(spark: Host):
    spark.run("install", "-m", "0600", "/etc/culture/motd", "/etc/culture/credentials/thor")
    spark.write("/etc/culture/ircd.yaml", "name: spark\nlinks: [{name: thor, secret_credential: thor}]\n")
    spark.systemctl("restart", SERVICE)

    spark.systemctl("reload", SERVICE)

    assert spark.property(SERVICE, "ActiveState") == "active"


async def test_a_connection_starts_it(spark: Host):
    spark.systemctl("stop", SERVICE)
    assert spark.property(SERVICE, "ActiveState") == "inactive"

    async with connected(spark.connect(6667), "spark-ori"):
        assert spark.property(SERVICE, "ActiveState") == "active"


async def test_the_watchdog_kills_it_when_it_hangs_and_it_comes_back_on_the_same_sockets(spark: Host):
    spark.write(
        f"/etc/systemd/system/{SERVICE}.d/fast.conf", "[Service]\nWatchdogSec=2s\nTimeoutAbortSec=1s\n"
    )
    spark.systemctl("daemon-reload")
    spark.systemctl("restart", SERVICE)
    listening_since = spark.property(SOCKET, "ActiveEnterTimestampMonotonic")

    spark.systemctl("kill", f"--signal={signal.SIGSTOP}", SERVICE)

    # The kernel takes the connection at once; the answer comes from the next process.
    async with connected(spark.connect(6667), "spark-ori"):
        assert spark.property(SERVICE, "NRestarts") == "1"
    assert spark.property(SOCKET, "ActiveEnterTimestampMonotonic") == listening_since
    assert any("Watchdog timeout" in entry["MESSAGE"] for entry in spark.journal(f"UNIT={SERVICE}"))


def test_a_hung_server_leaves_its_traceback_in_the_journal(spark: Host):
    spark.systemctl("kill", "--kill-whom=main", f"--signal={signal.SIGABRT}", SERVICE)

    eventually(
        lambda: any(
            "most recent call first" in str(entry["MESSAGE"]) for entry in spark.journal(f"--unit={SERVICE}")
        ),
        within_s=10,
        what="a traceback in the journal",
    )


async def test_io_uring_is_used_and_not_needed(spark: Host):
    def told() -> bool:
        return any(
            "io_uring is not available" in str(entry["MESSAGE"])
            for entry in spark.journal(f"--unit={SERVICE}")
        )

    async def talk() -> None:
        async with contextlib.AsyncExitStack() as stack:
            nicks = [f"spark-n{i}" for i in range(2 * MIN_SOCKETS)]
            crowd = [
                await stack.enter_async_context(connected(spark.connect(6667), nick, "#general"))
                for nick in nicks
            ]
            crowd[0].send("PRIVMSG #general :good morning")
            for one in crowd[1:]:
                assert await one.until(" PRIVMSG #general :good morning")
            for one in crowd[1:]:
                one.send(f"PRIVMSG {nicks[0]} :good morning")
            for _ in crowd[1:]:
                assert await crowd[0].until(f" PRIVMSG {nicks[0]} :good morning")

    await talk()
    assert not told()

    spark.write(
        f"/etc/systemd/system/{SERVICE}.d/filter.conf", "[Service]\nSystemCallFilter=~io_uring_setup\n"
    )
    spark.systemctl("daemon-reload")
    spark.systemctl("restart", SERVICE)
    await talk()
    assert told()


def test_a_wrong_configuration_is_told_once_and_not_tried_again(spark: Host):
    spark.systemctl("stop", SERVICE)
    spark.write("/etc/culture/ircd.yaml", "nam: spark\n")

    started = spark.run("systemctl", "start", SERVICE, check=False)

    assert started.returncode != 0
    assert spark.property(SERVICE, "ExecMainStatus") == "78"
    assert spark.property(SERVICE, "NRestarts") == "0"
    assert spark.property(SERVICE, "SubState") == "failed"
    status = spark.run("systemctl", "status", SERVICE, check=False).stdout
    assert "/etc/culture/ircd.yaml:1: unknown key 'nam'" in status
    assert "hint: did you mean 'name'?" in status


async def test_a_waiting_client_does_not_start_a_wrong_configuration_again_and_again(spark: Host):
    spark.systemctl("stop", SERVICE)
    spark.write("/etc/culture/ircd.yaml", "nam: spark\n")

    with spark.connect(6667):
        eventually(
            lambda: spark.property(SOCKET, "ActiveState") in ("inactive", "failed"),
            within_s=60,
            what="the socket closes",
        )
    tries = [entry for entry in spark.journal(f"--unit={SERVICE}") if "unknown key" in str(entry["MESSAGE"])]
    assert 1 <= len(tries) <= 2

    spark.write("/etc/culture/ircd.yaml", "")
    spark.systemctl("start", SERVICE)
    async with connected(spark.connect(6667), "spark-ori"):
        pass


async def test_it_comes_back_from_crashes_however_many(spark: Host):
    for restarts in range(1, 9):
        spark.systemctl("kill", "--signal=KILL", SERVICE)
        async with connected(spark.connect(6667), "spark-ori"):
            assert spark.property(SERVICE, "NRestarts") == str(restarts)


def test_a_host_without_ipv6_has_a_server_all_the_same(spark: Host):
    spark.systemctl("stop", SOCKET, SERVICE)
    spark.run("sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1")

    spark.systemctl("start", SERVICE)

    assert spark.property(SOCKET, "ActiveState") == "active"
    spark.connect(6667).close()
