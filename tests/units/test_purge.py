"""What the package's purge leaves: tried in a file system of its own."""

import os
import subprocess
from pathlib import Path

import pytest
from support.requirement import unable

ROOT = Path(__file__).resolve().parents[2]
PLACES = """
set -e
for place in /etc /run /var/lib; do mount -t tmpfs tmpfs $place; done
mkdir -p /etc/systemd/system /etc/culture/credentials /run/culture /var/lib/culture
"""

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")


def purged(before: str) -> list[str]:
    """What is left of ours below /etc, /run and /var/lib."""
    script = (
        f"{PLACES}{before}\nsh {ROOT}/debian/culture.postrm purge\nfind /etc /run /var/lib -path '*culture*'"
    )
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, timeout=30, check=False
    )
    if "unshare" in done.stderr:
        unable(done.stderr)
    assert done.returncode == 0, done.stderr
    return sorted(done.stdout.split())


def test_state_that_is_a_disk_of_its_own_is_emptied():
    state = "mount -t tmpfs tmpfs /var/lib/culture\nmkdir /var/lib/culture/ircd\n"
    assert purged(state) == ["/var/lib/culture"]


def test_drop_ins_of_every_unit_go():
    units = [path.name for path in (ROOT / "units").iterdir() if path.name.startswith("culture")]
    names = [
        name for name in units if name.rpartition(".")[2] in ("service", "socket", "target", "timer", "slice")
    ]
    assert "culture-agent-failed@.service" in names
    assert purged("".join(f"mkdir /etc/systemd/system/{name}.d\n" for name in names)) == []
