"""A fleet file becomes true on booted hosts: apply, take back, and the same over ssh."""

import json
from pathlib import Path

import pytest
from system.agents import DROP_IN, EXAMPLE, SERVICE
from system.hostlab.host import Host
from system.hostlab.waiting import eventually

pytestmark = [pytest.mark.system, pytest.mark.timeout(900)]

IRCD = "culture-ircd.service"
ONE_HOST = """\
hosts:
  - name: spark
    agents:
      - {nick: spark-claude, channels: ["#general"]}
      - {nick: spark-other, channels: ["#general"]}
"""


def rehearse(host: Host) -> None:
    """Agents of this host use the scripted model."""
    host.run("install", "-D", "-m", "0644", EXAMPLE, DROP_IN)
    host.systemctl("daemon-reload")


def apply(host: Host, fleet: str, *options: str) -> None:
    host.write("/root/fleet.yaml", fleet)
    host.run("culturectl", "apply", "--fleet", "/root/fleet.yaml", *options, timeout_s=240)


def started(host: Host, *units: str) -> dict[str, str]:
    """When each unit was started, which tells whether it was started again."""
    return {unit: host.property(unit, "ExecMainStartTimestampMonotonic") for unit in units}


def test_an_apply_restarts_what_changed_and_nothing_else(spark: Host):
    rehearse(spark)
    apply(spark, ONE_HOST)
    other = SERVICE.replace("claude", "other")
    assert [spark.property(unit, "ActiveState") for unit in (IRCD, SERVICE, other)] == ["active"] * 3
    assert spark.run("systemctl", "is-enabled", SERVICE).stdout == "enabled\n"

    before = started(spark, IRCD, SERVICE, other)
    apply(spark, ONE_HOST)
    assert started(spark, IRCD, SERVICE, other) == before

    apply(spark, ONE_HOST.replace('spark-claude, channels: ["#general"]', 'spark-claude, channels: ["#ops"]'))
    after = started(spark, IRCD, SERVICE, other)
    assert {unit for unit in after if after[unit] != before[unit]} == {SERVICE}
    [row] = [
        json.loads(line)
        for line in spark.run("culturectl", "list-agents", "--json").stdout.splitlines()
        if "spark-claude" in line
    ]
    assert "#ops" in row["status"]

    # An agent that is not in the fleet any more is stopped, and its state stays.
    apply(spark, "\n".join(ONE_HOST.splitlines()[:-1]))
    assert spark.property(other, "ActiveState") == "inactive"
    assert spark.path("/var/lib/culture/agents/spark-other").is_dir()


def test_an_apply_is_taken_back_when_a_unit_does_not_come_up(spark: Host):
    rehearse(spark)
    apply(spark, ONE_HOST)
    before = spark.path("/etc/culture/agents.yaml").read_text()
    # There is no such program, so that the service fails.
    spark.write("/root/fleet.yaml", ONE_HOST.replace("spark-other", "spark-other, agent: codex"))

    done = spark.run("culturectl", "apply", "--fleet", "/root/fleet.yaml", check=False, timeout_s=240)

    assert done.returncode == 69
    assert "everything is as it was before" in done.stderr
    assert spark.path("/etc/culture/agents.yaml").read_text() == before
    other = SERVICE.replace("claude", "other")
    assert [spark.property(unit, "ActiveState") for unit in (IRCD, SERVICE, other)] == ["active"] * 3
    assert spark.run("culturectl", "drift").returncode == 0


def test_an_apply_that_nobody_confirms_is_taken_back_in_time(spark: Host):
    spark.systemctl("stop", IRCD)
    before = spark.path("/etc/culture/ircd.yaml").read_text()
    fleet = "hosts: [{name: spark, ircd: {motd: hello}}]\n"
    apply(spark, fleet, "--confirm-within", "8")
    assert "motd: hello" in spark.path("/etc/culture/ircd.yaml").read_text()
    # A reload of systemd does not make it wait longer.
    spark.systemctl("daemon-reload")

    eventually(
        lambda: spark.path("/etc/culture/ircd.yaml").read_text() == before,
        within_s=60,
        what="the apply is taken back",
    )

    apply(spark, fleet, "--confirm-within", "60")
    spark.run("culturectl", "confirm")
    assert not spark.path("/var/lib/culture/fleet/pending.json").exists()
    timers = spark.systemctl("list-timers", "--all", "culture-undo*")
    assert "0 timers listed" in timers


def test_a_boot_takes_back_what_was_not_confirmed(spark: Host):
    before = spark.path("/etc/culture/ircd.yaml").read_text()
    apply(spark, "hosts: [{name: spark, ircd: {motd: hello}}]\n", "--confirm-within", "600")

    # As at a boot: the record is there, and no timer any more.
    spark.systemctl("stop", "culture-undo-timeout.timer")
    spark.systemctl("start", "culture-undo.service")

    assert spark.property("culture-undo.service", "Result") == "success"
    assert spark.path("/etc/culture/ircd.yaml").read_text() == before
    assert spark.run("systemctl", "is-enabled", "culture-undo.service").stdout == "enabled\n"


@pytest.mark.parametrize("text", ["hosts: [\n", "hosts: [{name: spark, adress: x}]\n"])
def test_a_broken_file_is_reported_and_changes_nothing(spark: Host, text: str):
    before = Path(spark.path("/etc/culture/ircd.yaml")).read_text()
    spark.write("/root/fleet.yaml", text)

    for verb in ("check", "plan", "apply"):
        done = spark.run("culturectl", verb, "--fleet", "/root/fleet.yaml", check=False)
        assert (done.returncode, "/root/fleet.yaml:" in done.stderr) == (78, True)

    assert spark.path("/etc/culture/ircd.yaml").read_text() == before
    assert not spark.path("/var/lib/culture/fleet").exists()
