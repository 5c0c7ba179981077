"""Query systemd about units, by way of systemctl."""

import subprocess
from collections.abc import Sequence
from typing import Final

from culture.errors import UnavailableError

_TIMEOUT_S: Final = 10
_PROPERTIES: Final = "Id,LoadState,ActiveState,SubState,StatusText,StateChangeTimestamp,User,Environment"
# The word for each state of a unit: first its SubState is looked up, then its ActiveState.
_WORDS: Final = {
    "auto-restart": "restarting",
    "active": "running",
    "reloading": "running",
    "activating": "starting",
    "deactivating": "stopping",
    "inactive": "stopped",
    "failed": "failed",
}

Unit = dict[str, str]


def show(units: Sequence[str]) -> dict[str, Unit]:
    """Return the properties of units by name. A pattern such as `culture-*` selects loaded units only."""
    result = _run("show", "--timestamp=unix", f"--property={_PROPERTIES}", "--", *units)
    if result.returncode != 0:
        # For example, systemd is not the init of this host or container.
        raise UnavailableError(f"systemctl failed: {' '.join(result.stderr.split()) or 'it gave no reason'}")
    blocks = (block.splitlines() for block in result.stdout.split("\n\n") if block.strip())
    found = [dict(line.split("=", 1) for line in block if "=" in line) for block in blocks]
    return {unit["Id"]: unit for unit in found if "Id" in unit}


def state_of(unit: Unit | None) -> str:
    """Return one word for the state of a unit, for people."""
    if unit is None:
        return "stopped"
    if unit.get("LoadState") == "not-found":
        return "not installed"
    active = unit.get("ActiveState", "")
    return _WORDS.get(unit.get("SubState", "")) or _WORDS.get(active) or active or "unknown"


def changed_s(unit: Unit | None) -> float | None:
    """Return the Unix time at which a unit came into its state; None if it was never in another."""
    stamp = (unit or {}).get("StateChangeTimestamp", "").removeprefix("@")
    return float(stamp) if stamp.isdecimal() and stamp != "0" else None


def is_active(unit: str) -> bool:
    """Return whether a unit is active, as `systemctl is-active` does."""
    return _run("is-active", "--quiet", unit).returncode == 0


def control(*arguments: str, may_fail: bool = False, timeout_s: float = 90) -> str:
    """Run systemctl and return what it prints. Raises UnavailableError if it fails."""
    result = _run(*arguments, timeout_s=timeout_s)
    if result.returncode and not may_fail:
        raise UnavailableError(f"'systemctl {' '.join(arguments)}' failed: {result.stderr.strip()}")
    return result.stdout


def _run(*arguments: str, timeout_s: float = _TIMEOUT_S) -> "subprocess.CompletedProcess[str]":
    command = ("systemctl", *arguments)
    try:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout_s, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise UnavailableError(f"cannot run systemctl: {error}", hint=" ".join(command)) from None
