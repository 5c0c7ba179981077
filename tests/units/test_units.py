"""Units are valid, locked by default, and say why where they are not."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from culture.names import agent_user
from culture.net.restart.session_keeper import LINES
from culture.rehearsal.environment import environment
from culture.systemd.credentials import (
    DIRECTORY_IDS,
    SERVER_DIRECTORY,
    agent_directory,
    bridge_directory,
    encrypted_agent_directory,
)

TREE = Path(__file__).resolve().parents[2]
UNITS = TREE / "units"
SERVICES = sorted(UNITS.glob("*.service"))
# What `systemd-analyze security` may say at most: the CLIs of agents run whatever they are asked to.
BUDGETS = {
    "culture-agent-failed@.service": 2.0,
    # It writes users to /etc as root.
    "culture-agent-user@.service": 3.0,
    "culture-agent@.service": 5.0,
    "culture-bridge.service": 2.0,
    "culture-ircd.service": 2.0,
    "culture-ledger.service": 2.0,
    "culture-prune.service": 2.0,
    "culture-rehearsal.service": 2.0,
    "culture-undo.service": 2.0,
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
# All but those that do their work once and end.
DAEMONS = [path for path in SERVICES if "\nType=oneshot\n" not in path.read_text()]
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
        text = re.sub(r"^(Exec\w+=)[+-]*/usr/bin/culture[\w-]+", r"\1/bin/true", unit.read_text(), flags=re.M)
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
    assert found["RestartPreventExitStatus"][0].startswith("64 77 78")
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


def lines(unit: str, name: str) -> list[str]:
    """The values of a setting that may stand several times."""
    return re.findall(rf"^{name}=(.*)$", (UNITS / unit).read_text(), re.MULTILINE)


def test_each_agent_is_a_user_of_its_own_who_is_made_before_its_socket_and_service():
    user = agent_user("%i")
    (command,) = lines("culture-agent-user@.service", "ExecStart")
    program, *rules = shlex.split(command)

    assert (program, rules[0]) == ("/usr/bin/systemd-sysusers", "--inline")
    assert [shlex.split(rule)[:2] for rule in rules[1:]] == [["u", user], ["m", user]]
    assert lines("culture-agent@.service", "User") == lines("culture-agent@.service", "Group") == [user]
    assert (
        lines("culture-agent@.socket", "SocketUser")
        == lines("culture-agent@.socket", "SocketGroup")
        == [user]
    )
    for unit in ("culture-agent@.service", "culture-agent@.socket"):
        for relation in ("Requires", "After"):
            assert "culture-agent-user@%i.service" in " ".join(lines(unit, relation)).split()


def test_an_agent_loads_its_own_credentials_and_starts_without_any():
    for unit in ("culture-agent@.service", "culture-agent-failed@.service"):
        loaded = [*lines(unit, "LoadCredential"), *lines(unit, "LoadCredentialEncrypted")]
        assert loaded == [
            f"culture:{agent_directory('%i')}",
            f"secret:{encrypted_agent_directory('%i')}",
        ]
        assert lines(unit, "SetCredential") == [f"{name}:none" for name in DIRECTORY_IDS]


def test_the_server_does_not_load_the_credentials_of_agents():
    """systemd loads a directory with all that is below it, and follows no symbolic links there."""
    assert lines("culture-ircd.service", "LoadCredential") == [f"culture:{SERVER_DIRECTORY}"]
    rows = [line.split() for line in (UNITS / "culture.tmpfiles").read_text().splitlines()]
    for place in (SERVER_DIRECTORY / "agents", bridge_directory()):
        assert [row[0] for row in rows if row[1:2] == [str(place)]] == ["L"]


def test_the_bridge_loads_its_own_credentials_and_starts_without_any():
    assert lines("culture-bridge.service", "LoadCredential") == [f"culture:{bridge_directory()}"]
    assert lines("culture-bridge.service", "SetCredential") == ["culture:none"]


@pytest.mark.parametrize("program", ["culture-ircd", "culture-bridge"])
def test_a_reload_checks_the_file_before_the_daemon_reads_it(program: str):
    check, signal = lines(f"{program}.service", "ExecReload")
    (start,) = lines(f"{program}.service", "ExecStart")

    assert check == start.replace(f"{program} ", f"{program} --check ")
    assert signal == "/bin/kill -HUP $MAINPID"


def test_what_tells_that_an_agent_failed_does_not_fail_itself():
    """It would keep the host degraded after the agent was mended."""
    assert [line[0] for line in lines("culture-agent-failed@.service", "ExecStart")] == ["-"]
    assert all(line[0] == "-" for line in lines("culture-agent-failed@.service", "ExecStartPre"))
