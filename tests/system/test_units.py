"""The installed units, as the manager of a booted host sees them."""

import re

import pytest
from system.hostlab.host import Host

pytestmark = [pytest.mark.system, pytest.mark.timeout(600)]

BUDGETS = {
    "culture-agent-failed@spark-claude.service": 2.0,
    "culture-agent-user@spark-claude.service": 3.0,
    "culture-agent@spark-claude.service": 5.0,
    "culture-bridge.service": 2.0,
    "culture-ircd.service": 2.0,
    "culture-ledger.service": 2.0,
    "culture-prune.service": 2.0,
    "culture-rehearsal.service": 2.0,
    "culture-undo.service": 2.0,
}


def test_they_verify_with_the_programs_and_man_pages_that_the_package_has(spark: Host):
    files = spark.run("dpkg", "--listfiles", "culture").stdout.split()
    units = [path for path in files if re.search(r"/systemd/system/.*\.(service|socket|target|slice)$", path)]
    names = [path.replace("@.", "@spark-claude.").rpartition("/")[2] for path in units]

    verified = spark.run("systemd-analyze", "verify", "--man=no", *names)

    assert verified.stdout + verified.stderr == ""
    pages = {path.rpartition("/")[2].removesuffix(".gz") for path in files if "/share/man/" in path}
    for path in units:
        for name, section in re.findall(r"man:([\w.-]+)\(([0-9])\)", spark.path(path).read_text()):
            assert f"{name}.{section}" in pages


@pytest.mark.parametrize(("unit", "budget"), BUDGETS.items())
def test_they_keep_their_security_budget(spark: Host, unit: str, budget: float):
    spark.run("systemd-analyze", "security", "--no-pager", f"--threshold={budget * 10:.0f}", unit)


def test_the_rehearsal_model_reaches_loopback_and_nothing_else(spark: Host):
    spark.systemctl("start", "culture-rehearsal.service")
    assert spark.property("culture-rehearsal.service", "StatusText") == "playing the default script"
    assert set(spark.property("culture-rehearsal.service", "IPAddressDeny").split()) == {"0.0.0.0/0", "::/0"}
    spark.connect(8645).close()
