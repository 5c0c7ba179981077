"""Carry out a plan on this host, all of it or nothing."""

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from culture.ctl import systemctl
from culture.ctl.files import below, remove_file, write_below
from culture.ctl.fleet.plan import SERVER, Plan
from culture.ctl.fleet.record import Record, Undo
from culture.ctl.fleet.render import Files
from culture.ctl.fleet.undo_timer import disarm
from culture.errors import CultureError, UnavailableError

# An agent has three minutes to start, and its units start side by side.
_UNITS_TIMEOUT_S: Final = 240
# How long all units of a host take at most.
LONGEST_S: Final = 600
# How long units have to stay up after they reported that they are ready.
_SETTLE_S: Final = 1.0


def prepare_undo(plan: Plan, host: str, record: Record, *, has_units: bool) -> Undo:
    """Return how the host is now."""
    units = [each.unit for each in plan.actions]
    active = [unit for unit in units if has_units and systemctl.is_active(unit)]
    applied = record.applied()
    return Undo(
        host=host,
        files={str(change.path): change.old for change in plan.changes},
        actions={each.unit: each.action for each in plan.actions},
        active=tuple(active),
        applied=None if applied is None else {str(path): text for path, text in applied.items()},
    )


def write(plan: Plan, files: Files, root: Path, record: Record) -> None:
    """Write the files of a plan, and remember what was applied."""
    _write_files({change.path: change.new for change in plan.changes}, root)
    record.set_applied({str(path): text for path, text in files.items()})


def follow(plan: Plan, undo: Undo) -> None:
    """Have units follow the files. Raises UnavailableError if one does not come up."""
    if plan.changes_units:
        systemctl.control("daemon-reload")
    if SERVER in plan.units("restart"):
        _control("restart", SERVER)
    elif SERVER in plan.units("reload"):
        _control("reload-or-restart", SERVER)
    if stopped := plan.units("stop"):
        _control("disable", "--now", "--quiet", *_with_sockets(stopped))
        systemctl.control("reset-failed", *_with_sockets(stopped), may_fail=True)
    # What does not run is left alone: a person stopped it.
    if running := [unit for unit in plan.units("restart") if unit in undo.active and unit != SERVER]:
        _control("restart", *running)
    if started := plan.units("start"):
        _control("enable", "--now", "--quiet", *started)
    _check_up([SERVER] if SERVER in undo.actions else [], running, started)


def take_back(undo: Undo, root: Path, record: Record, *, has_units: bool, is_booting: bool = False) -> None:
    """Make the host as it was before an apply."""
    _write_files({Path(path): text for path, text in undo.files.items()}, root)
    record.set_applied(undo.applied)
    if has_units:
        _follow_back(undo, is_booting=is_booting)
    record.forget()


def _follow_back(undo: Undo, *, is_booting: bool) -> None:
    systemctl.control("daemon-reload")
    started = [unit for unit, action in undo.actions.items() if action == "start"]
    wait = ["--no-block"] if is_booting else []
    if started:
        _control("disable", "--now", "--quiet", *wait, *_with_sockets(started))
        systemctl.control("reset-failed", *started, may_fail=True)
    stopped = [unit for unit, action in undo.actions.items() if action == "stop" and unit in undo.active]
    if stopped:
        _control("enable", "--quiet", *stopped)
    if not is_booting:
        disarm()
        if again := [unit for unit in undo.active if unit not in started]:
            systemctl.control("reset-failed", *again, may_fail=True)
            _control("restart", *again)


def _write_files(texts: Mapping[Path, str | None], root: Path) -> None:
    for path, text in texts.items():
        if text is None:
            remove_file(below(root, path))
        else:
            write_below(root, path, text)


def _control(*arguments: str) -> None:
    systemctl.control(*arguments, timeout_s=_UNITS_TIMEOUT_S)


def _check_up(*units: Iterable[str]) -> None:
    """Check that units which reported to be ready are still up a moment later."""
    expected = [unit for group in units for unit in group]
    if expected:
        time.sleep(_SETTLE_S)
    for unit in expected:
        if not systemctl.is_active(unit):
            raise UnavailableError(f"{unit} did not stay up", hint=f"journalctl -u {unit}")


def _with_sockets(services: Iterable[str]) -> list[str]:
    return [name for each in services for name in (each, each.replace(".service", ".socket"))]


def failure(error: CultureError, undone: CultureError | None) -> UnavailableError:
    """Return the error of an apply that was taken back, or could not be."""
    why = str(error)
    if undone is not None:
        hint = "culturectl undo, after that is solved"
        return UnavailableError(f"{why}; taking it back failed too: {undone}", hint=hint)
    return UnavailableError(f"{why}; everything is as it was before", hint=error.hint)
