"""Check what the host lacks: credentials, users, directories, programs, logins, space and time."""

import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from culture.agent.backends.logins import has_login, login_of
from culture.agent.backends.programs import WANTED, find, how_to_install
from culture.config import paths
from culture.config.agents import AgentConfig
from culture.ctl.doctor.finding import Finding, Patient
from culture.ctl.files import below
from culture.ctl.fleet.record import Record
from culture.ctl.units.missing import find_missing
from culture.errors import CultureError
from culture.store import disk
from culture.systemd.credentials import SERVER_DIRECTORY

_CREDENTIALS_OF_AGENTS: Final = Path("/etc/culture/credentials-of-agents")
# Where services look for programs.
_SERVICE_PATH: Final = "/usr/local/bin:/usr/bin:/bin"
_LOW_BYTES: Final = 10**9


def check_missing(patient: Patient) -> Iterator[Finding]:
    """Find users, directories and credentials that agents.yaml names and that do not exist."""
    if patient.agents is None:
        return
    for agent in patient.agents.agents:
        for problem in find_missing(patient.agents, agent, patient.root):
            yield Finding(agent.nick, "problem", problem.what, problem.hint or "")


def check_credentials(patient: Patient) -> Iterator[Finding]:
    """Find credentials of the server that are missing, and any that others can read."""
    directory = below(patient.root, SERVER_DIRECTORY)
    if not os.access(directory, os.X_OK | os.R_OK):
        if directory.exists():
            yield Finding(
                "credentials", "warning", f"cannot look into '{directory}'", "sudo culturectl doctor"
            )
        return
    names = [link.secret_credential for link in patient.ircd.links] if patient.ircd else []
    for name in names:
        if not (directory / name).is_file():
            hint = f"install -m 0600 /dev/stdin {SERVER_DIRECTORY / name}"
            yield Finding("credentials", "problem", f"the credential '{name}' is missing", hint)
    places = [directory, below(patient.root, _CREDENTIALS_OF_AGENTS)]
    files = [file for place in places for file in place.rglob("*") if file.is_file()]
    for file in files:
        if stat.S_IMODE(file.stat().st_mode) & 0o077:
            yield Finding("credentials", "problem", f"others can read '{file}'", f"chmod 0600 {file}")


def check_backends(patient: Patient) -> Iterator[Finding]:
    """Find agents whose program is not installed, or has neither a key nor a login."""
    for agent in patient.agents.agents if patient.agents else ():
        if agent.command or (agent.agent == "acp" and agent.acp_command[0].startswith("/")):
            continue
        for wanted in WANTED:
            if wanted.agent == agent.agent and wanted.program in (agent.agent, agent.acp_command[0]):
                if find(wanted, _SERVICE_PATH, [paths.VENDOR]) is None:
                    hint = how_to_install(wanted, [paths.VENDOR])
                    yield Finding(agent.nick, "problem", f"'{wanted.program}' is not installed", hint)
                else:
                    yield from _login(agent, patient)


def _login(agent: AgentConfig, patient: Patient) -> Iterator[Finding]:
    login = login_of(agent.agent, agent.acp_command)
    home = below(patient.root, paths.SYSTEM_STATE) / "agents" / agent.nick
    if login is None or agent.key_credential or agent.user or not os.access(home.parent, os.X_OK):
        return
    try:
        is_logged_in = has_login(login, {"HOME": str(home)})
    except PermissionError:
        return
    if not is_logged_in:
        what = "has neither a key nor a login for its model"
        yield Finding(agent.nick, "warning", what, f"culturectl login {agent.nick}")


def check_disk(patient: Patient) -> Iterator[Finding]:
    """Find a disk that is full, or nearly."""
    told, hint = disk.describe(patient.state_dir), "set history.keep_days in ircd.yaml, then culturectl prune"
    if disk.is_full(patient.state_dir):
        yield Finding("disk", "problem", told, hint)
    elif disk.free_bytes(patient.state_dir) < _LOW_BYTES:
        yield Finding("disk", "warning", told, hint)
    else:
        yield Finding("disk", "ok", told)


def check_clock(patient: Patient) -> Iterator[Finding]:
    """Find a clock that nobody sets: hosts with different times order messages differently."""
    command = ["timedatectl", "show", "--property=NTPSynchronized", "--value"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return
    if told == "yes":
        yield Finding("clock", "ok", "the clock is synchronized")
    else:
        yield Finding("clock", "warning", "the clock is not synchronized", "timedatectl set-ntp true")


def check_fleet(patient: Patient) -> Iterator[Finding]:
    """Find an apply that waits for its confirmation."""
    try:
        pending = Record(patient.root).pending()
    except CultureError:
        # Only root can look into the record.
        return
    if pending is not None:
        yield Finding("fleet", "warning", "an apply was not confirmed", "culturectl confirm")
