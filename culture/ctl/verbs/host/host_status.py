"""`culturectl status` without a nick: the server and all agents of this host on one screen."""

import argparse
import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from culture import __version__
from culture.config import loader, paths
from culture.config.ircd import IrcdConfig
from culture.ctl import output, systemctl
from culture.ctl.agents import AGENT_COLUMNS, agent_cells, agent_rows, is_installation
from culture.errors import CultureError, NoInputError, describe
from culture.store import disk

_SERVER: Final = "culture-ircd.service"
NOT_ACTIVE: Final = 3  # as of systemctl status


def show(options: argparse.Namespace) -> int:
    """Print the screen. The exit status is 3 if the server does not run."""
    ircd, agents = (paths.config_file(name, os.environ) for name in ("ircd.yaml", "agents.yaml"))
    if not ircd.exists() and not agents.exists():
        raise NoInputError(f"neither '{ircd}' nor '{agents}' exists", hint="culturectl up, for a first try")
    problems: list[str] = []
    rows: list[output.Row] = []
    units: Mapping[str, systemctl.Unit] = {}
    try:
        rows, units = agent_rows(agents)
    except CultureError as error:
        problems += describe("", error).splitlines()
    state = _server(ircd, units)
    lines = [
        ("server", state),
        ("agents", _counted(rows)),
        *(("disk", told) for told in _disks(ircd, problems)),
        *(("failed", unit) for unit in _failed(units)),
        *(("problem", problem.removeprefix(": ")) for problem in problems),
    ]
    output.show([f"Culture {__version__}, configured in '{ircd.parent}'", *output.labelled(lines)])
    if rows:
        output.show([""])
        output.show_table(AGENT_COLUMNS, map(agent_cells, rows), is_cut=True)
    is_running = state.startswith("running")
    output.note(options, f"\nhint: {_hint(is_running=is_running, is_service=is_installation(ircd))}")
    return 0 if is_running else NOT_ACTIVE


def _hint(*, is_running: bool, is_service: bool) -> str:
    if is_running:
        more = "; for all units: systemctl status 'culture-*'" if is_service else ""
        return f"culturectl status NICK{more}"
    return "systemctl start culture-ircd" if is_service else "culturectl up"


def _server(ircd: Path, units: Mapping[str, systemctl.Unit]) -> str:
    if not is_installation(ircd):
        pid = _process_of_up(ircd.parent / "run" / "lock")
        return f"running, by 'culturectl up' (process {pid})" if pid else "stopped"
    unit = units.get(_SERVER)
    told = (unit or {}).get("StatusText")
    return systemctl.state_of(unit) + (f": {told}" if told else "")


def _process_of_up(lock: Path) -> str:
    """Return the process that holds the lock of `culturectl up`; nothing if none does."""
    try:
        with lock.open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return file.read(32).strip() or "unknown"
    except OSError:
        pass
    return ""


def _counted(rows: Sequence[output.Row]) -> str:
    states = [row["state"] for row in rows]
    counts = [f"{states.count(state)} {state}" for state in dict.fromkeys(states)]
    return ", ".join(counts) or "none configured"


def _disks(ircd: Path, problems: list[str]) -> Iterator[str]:
    try:
        configured = loader.load(ircd, IrcdConfig).state_dir if ircd.exists() else ""
    except CultureError as error:
        problems += describe("", error).splitlines()
        configured = ""
    state = paths.SYSTEM_STATE if is_installation(ircd) else ircd.parent
    places = [Path(configured), state] if configured else [state]
    yield from dict.fromkeys(map(disk.describe, places))


def _failed(units: Mapping[str, systemctl.Unit]) -> list[str]:
    """Return the units that failed, other than agents, which have a row of their own."""
    failed = [name for name, unit in units.items() if systemctl.state_of(unit) == "failed"]
    return sorted(name for name in failed if not name.startswith("culture-agent@"))
