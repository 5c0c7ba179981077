"""Units are valid, locked by default, and say why where they are not."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from culture.net.keeping import LINES
from culture.rehearsal.environment import environment

TREE = Path(__file__).resolve().parents[2]
UNITS = TREE / "units"
SERVICES = sorted(UNITS.glob("*.service"))
# What `systemd-analyze security` may say at most: the CLIs of agents run whatever they are asked to.
BUDGETS = {
    "culture-agent-failed@.service": 2.0,
    "culture-agent@.service": 5.0,
    "culture-ircd.service": 2.0,
    "culture-prune.service": 2.0,
    "culture-rehearsal.service": 2.0,
}
LOCKED = {
    "AmbientCapabilities": "",
    "CapabilityBoundingSet": "",
    "DevicePolicy": "closed",
    "KeyringMode": "private",
    "LockPersonality": "yes",
    "MemoryDenyWriteExecute": "yes",
    "NoNewPrivileges": "yes",
    "PrivateDevices": "yes",
    "PrivateTmp": "yes",
    "ProcSubset": "pid",
    "ProtectClock": "yes",
    "ProtectControlGroups": "yes",
    "ProtectHome": "yes",
    "ProtectHostname": "yes",
    "ProtectKernelLogs": "yes",
    "ProtectKernelModules": "yes",
    "ProtectKernelTunables": "yes",
    "ProtectProc": "invisible",
    "ProtectSystem": "strict",
    "RemoveIPC": "yes",
    "RestrictAddressFamilies": "none",
    "RestrictNamespaces": "yes",
    "RestrictRealtime": "yes",
    "RestrictSUIDSGID": "yes",
    "SystemCallArchitectures": "native",
    "SystemCallErrorNumber": "EPERM",
    "UMask": "0077",
}

needs_analyze = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze"
)
DAEMONS = [
    path for path in SERVICES if path.name not in ("culture-agent-failed@.service", "culture-prune.service")
]
"""All but what does its work once and ends."""
each_service = pytest.mark.parametrize("service", SERVICES, ids=lambda path: path.name)


def settings(unit: Path) -> dict[str, tuple[str, str]]:
    """Each setting with the line above it. Of several with one name, the last."""
    lines = unit.read_text().splitlines()
    pairs = zip(["", *lines], lines, strict=False)
    return {line.split("=")[0]: (line.partition("=")[2], above) for above, line in pairs if "=" in line}


def analyze(*arguments: str | Path) -> str:
    done = subprocess.run(
        ["systemd-analyze", *arguments], capture_output=True, text=True, timeout=30, check=False
    )
    return f"{done.stdout}{done.stderr}" if done.returncode or done.stderr else ""


@needs_analyze
def test_units_verify(tmp_path: Path):
    units = [
        path
        for suffix in ("service", "socket", "target", "slice", "timer")
        for path in UNITS.glob(f"*.{suffix}")
    ]
    for unit in units:
        # The programs are there only once the package is installed.
        text = re.sub(
            r"^ExecStart=/usr/bin/culture[\w-]+", "ExecStart=/bin/true", unit.read_text(), flags=re.M
        )
        (tmp_path / unit.name).write_text(text)

    assert analyze("verify", "--man=no", *(tmp_path / unit.name for unit in units)) == ""


@needs_analyze
@each_service
def test_services_keep_their_security_budget(service: Path):
    budget = BUDGETS[service.name]

    assert analyze("security", "--offline=true", f"--threshold={budget * 10:.0f}", service) == ""


@each_service
def test_what_is_not_locked_has_its_reason_on_the_line_above(service: Path):
    found = settings(service)
    missing = LOCKED.keys() - found.keys()
    bare = {
        name: found[name]
        for name, locked in LOCKED.items()
        if name in found and found[name][0] != locked and not found[name][1].startswith("# ")
    }

    assert (missing, bare) == (set(), {})


@pytest.mark.parametrize("service", DAEMONS, ids=lambda path: path.name)
def test_daemons_are_watched_and_not_restarted_in_vain(service: Path):
    found = settings(service)

    assert found["Type"][0] == "notify"
    assert found["Restart"][0] == "always"
    assert found["RestartPreventExitStatus"][0] == "64 77 78"
    assert "WatchdogSec" in found
    assert "TimeoutAbortSec" in found


def test_names_of_instances_are_taken_as_they_are():
    """%I turns dashes into slashes, and nicks have dashes."""
    assert [path for path in UNITS.rglob("*") if path.is_file() and "%I" in path.read_text()] == []


def test_everything_runs_in_our_slice():
    sliced = [
        settings(path)["Slice"][0] for kind in ("service", "socket") for path in UNITS.glob(f"*.{kind}")
    ]

    assert set(sliced) == {"culture.slice", "culture-agents.slice"}


def test_every_page_that_a_unit_names_exists():
    named = {
        f"{name}.{section}.rst"
        for path in UNITS.glob("*.*")
        for name, section in re.findall(r"man:([\w.-]+)\(([0-9])\)", path.read_text())
    }

    assert named <= {path.name for path in (TREE / "docs/man").glob("*.rst")}


def test_the_rehearsal_example_sets_what_a_rehearsal_needs():
    text = (UNITS / "examples/rehearsal.conf").read_text()
    lines = re.findall(r"^Environment=(.*)$", text, flags=re.M)
    given = dict(word.split("=", 1) for line in lines for word in line.split())

    assert given == environment("http://127.0.0.1:8645")


def test_the_server_knows_how_many_sockets_are_kept_and_their_names_fit():
    text = (UNITS / "culture-ircd.service").read_text()
    [room] = re.findall(r"^FileDescriptorStoreMax=(\d+)$", text, re.MULTILINE)
    assert f"\nEnvironment=FDSTORE={room}\n" in text
    # execve(2), MAX_ARG_STRLEN: all names come in one variable, each with a colon.
    assert int(room) * len(f"{LINES}:") < 131072 / 2
