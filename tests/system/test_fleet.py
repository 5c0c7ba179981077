"""A fleet file becomes true on booted hosts: apply, take back, and the same over ssh."""

import contextlib
import itertools
import json
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.certificates import make_pair
from system.agents import DROP_IN, EXAMPLE, SERVICE
from system.conftest import Lab
from system.hostlab.cables import Cable
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


def test_a_boot_takes_back_what_was_not_confirmed(lab: Lab, installed: Path):
    fleet = "hosts: [{name: spark, ircd: {motd: hello}}]\n"
    with lab.boot(installed) as spark:
        before = spark.path("/etc/culture/ircd.yaml").read_text()
        apply(spark, fleet, "--confirm-within", "600")
        assert spark.path("/etc/culture/ircd.yaml").read_text() != before
        spark.cut_power()
        with lab.boot(spark.written, installed) as again:
            assert again.path("/etc/culture/ircd.yaml").read_text() == before
            assert again.property("culture-undo.service", "Result") == "success"
            assert again.property(IRCD, "ActiveState") == "active"
            assert not again.path("/var/lib/culture/fleet/pending.json").exists()


@pytest.mark.parametrize("text", ["hosts: [\n", "hosts: [{name: spark, adress: x}]\n"])
def test_a_broken_file_is_reported_and_changes_nothing(spark: Host, text: str):
    before = Path(spark.path("/etc/culture/ircd.yaml")).read_text()
    spark.write("/root/fleet.yaml", text)

    for verb in ("check", "plan", "apply"):
        done = spark.run("culturectl", verb, "--fleet", "/root/fleet.yaml", check=False)
        assert (done.returncode, "/root/fleet.yaml:" in done.stderr) == (78, True)

    assert spark.path("/etc/culture/ircd.yaml").read_text() == before
    assert not spark.path("/var/lib/culture/fleet").exists()


NAMES = ("spark", "thor", "orin", "ec2")
FOUR_HOSTS = """\
mesh: full
hosts:
  - name: spark
    address: spark:6690
    agents:
      - {nick: spark-claude, channels: ["#general"]}
  - name: thor
    address: thor:6690
    agents:
      - {nick: thor-claude, channels: ["#general"]}
  - name: orin
    address: orin:6690
  - name: ec2
    address: tls:ec2:6697
    ca: /etc/culture/ec2.crt
    roles: [public]
    ircd:
      tls: {certificate: /etc/culture/ec2.pem}
"""
SSH_CONFIG = "Host *\n  StrictHostKeyChecking accept-new\n"


class Fleet:
    """Four hosts with a cable between each two. The operator works on spark."""

    def __init__(self, hosts: dict[str, Host], cables: dict[tuple[str, str], Cable]) -> None:
        self.hosts = hosts
        self.cables = cables

    def __getitem__(self, name: str) -> Host:
        return self.hosts[name]

    def operate(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        command = ["env", "-C", "/root/fleet", "culturectl", *arguments]
        return self["spark"].run(*command, check=check, timeout_s=400)

    def links(self, name: str) -> dict[str, str]:
        rows = self[name].run("culturectl", "list-links", "--json", check=False).stdout.splitlines()
        return {row["host"]: row["state"] for row in map(json.loads, rows)}

    def are_linked(self) -> bool:
        return all(list(self.links(name).values()) == ["linked"] * 3 for name in NAMES)

    def started(self) -> dict[tuple[str, str], str]:
        return {
            (name, unit): when for name in NAMES for unit, when in started(self[name], *units(name)).items()
        }


def units(name: str) -> list[str]:
    agents = {"spark": [SERVICE], "thor": [SERVICE.replace("spark", "thor")]}
    return [IRCD, *agents.get(name, [])]


@pytest.fixture(scope="module")
def fleet(lab: Lab, installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Four hosts on which culture is installed, that ssh reaches from spark, and a certificate for ec2."""
    with contextlib.ExitStack() as undo:
        hosts = {name: undo.enter_context(lab.boot(installed, name=name)) for name in NAMES}
        pairs = itertools.combinations(NAMES, 2)
        cables = {(one, other): Cable(hosts[one], hosts[other]) for one, other in pairs}
        for name, host in hosts.items():
            rehearse(host)
            addresses = [
                f"{cable.address(hosts[peer])} {peer}"
                for pair, cable in cables.items()
                if name in pair
                for peer in [pair[1 - pair.index(name)]]
            ]
            host.write("/etc/hosts", "\n".join(["127.0.0.1 localhost", f"127.0.1.1 {name}", *addresses, ""]))
            host.run("ssh-keygen", "-A")
            host.systemctl("unmask", "ssh.service")
            host.systemctl("start", "ssh.service")
        spark = hosts["spark"]
        spark.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "/root/.ssh/id_ed25519")
        spark.write("/root/.ssh/config", SSH_CONFIG)
        key = spark.path("/root/.ssh/id_ed25519.pub").read_text()
        pair = make_pair(tmp_path_factory.mktemp("certificate"), "ec2")
        for host in hosts.values():
            host.write("/root/.ssh/authorized_keys", key)
            host.write("/etc/culture/ec2.crt", pair.certificate.read_text())
            host.run("chmod", "0700", "/root/.ssh")
        hosts["ec2"].write("/etc/culture/ec2.pem", pair.certificate.read_text() + pair.key.read_text())
        hosts["ec2"].run("chown", "culture:", "/etc/culture/ec2.pem")
        spark.write("/root/fleet/fleet.yaml", FOUR_HOSTS)
        yield Fleet(hosts, cables)


def test_four_hosts_are_deployed_linked_changed_and_taken_back(fleet: Fleet):
    # Without secrets nothing happens anywhere.
    before = fleet.started()
    refused = fleet.operate("deploy", check=False)
    assert refused.returncode == 78
    assert "the credential 'link-ec2-orin' is not in /etc/culture/credentials" in refused.stderr
    assert "nothing was changed on any host" in refused.stderr
    assert fleet.started() == before

    fleet.operate("secrets", "make")
    fleet.operate("secrets", "install")
    assert (
        fleet["ec2"].run("stat", "--format=%U %a", "/etc/culture/credentials/link-ec2-spark").stdout
        == "root 600\n"
    )
    deployed = fleet.operate("deploy")
    results = [line.split()[:2] for line in deployed.stdout.splitlines()[1:]]
    assert sorted(results) == sorted([name, "applied"] for name in NAMES)
    # The first host is the canary.
    assert results[0][0] == "spark"
    eventually(fleet.are_linked, within_s=60, what="every host is linked to every other")

    # Nothing the second time.
    before = fleet.started()
    assert "unchanged" in fleet.operate("deploy").stdout
    assert fleet.started() == before

    # One agent's channels restart that agent alone, on its host.
    fleet["spark"].write(
        "/root/fleet/fleet.yaml",
        FOUR_HOSTS.replace('thor-claude, channels: ["#general"]', 'thor-claude, channels: ["#ops"]'),
    )
    planned = fleet.operate("deploy", "--dry-run", check=False)
    assert planned.returncode == 1
    assert "thor  restart  culture-agent@thor-claude.service" in planned.stdout
    fleet.operate("deploy")
    after = fleet.started()
    assert {key for key in after if after[key] != before[key]} == {("thor", units("thor")[1])}

    # A broken file changes nothing.
    fleet["spark"].write("/root/fleet/fleet.yaml", FOUR_HOSTS.replace("mesh: full", "mesh: ring"))
    broken = fleet.operate("deploy", check=False)
    assert (broken.returncode, fleet.started()) == (78, after)


def test_secrets_are_replaced_while_the_hosts_stay_linked(fleet: Fleet):
    text = fleet["spark"].path("/root/fleet/fleet.yaml").read_text().replace("mesh: ring", "mesh: full")
    fleet["spark"].write("/root/fleet/fleet.yaml", text)
    credential = "/etc/culture/credentials/link-ec2-spark"
    before = fleet["ec2"].path(credential).read_text()

    fleet.operate("secrets", "rotate")

    after = fleet["ec2"].path(credential).read_text()
    assert after != before
    assert fleet["spark"].path(credential).read_text() == after
    eventually(fleet.are_linked, within_s=60, what="every host is linked to every other")


def test_an_apply_that_is_cut_off_is_taken_back_by_the_host_itself(fleet: Fleet):
    cable = fleet.cables["spark", "thor"]
    thor = fleet["thor"]
    before = thor.path("/etc/culture/ircd.yaml").read_text()
    text = fleet["spark"].path("/root/fleet/fleet.yaml").read_text().replace("mesh: ring", "mesh: full")
    fleet["spark"].write(
        "/root/fleet/fleet.yaml", text.replace("name: thor\n", "name: thor\n    ircd: {motd: hi}\n")
    )
    with ThreadPoolExecutor(max_workers=1) as thread:
        deploying = thread.submit(fleet.operate, "deploy", "--confirm-within", "15", "thor", check=False)
        eventually(
            lambda: "motd: hi" in thor.path("/etc/culture/ircd.yaml").read_text(),
            within_s=60,
            what="the file is written",
        )
        cable.pull()
        try:
            eventually(
                lambda: thor.path("/etc/culture/ircd.yaml").read_text() == before,
                within_s=90,
                what="thor takes it back",
            )
        finally:
            cable.mend()
        done = deploying.result(timeout=200)

    assert done.returncode == 69
    assert "taken back" in done.stdout
    eventually(fleet.are_linked, within_s=60, what="every host is linked to every other")
