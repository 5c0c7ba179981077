"""`culturectl apply`: make this host as the fleet file says."""

import argparse
from pathlib import Path

from culture.ctl import output
from culture.ctl.fleet import apply, undo_timer
from culture.ctl.fleet.drain import drain, let_go_on
from culture.ctl.fleet.files import load_fleet, this_host
from culture.ctl.fleet.plan import SERVER, Plan, make_plan, read_files
from culture.ctl.fleet.preflight import find_failures
from culture.ctl.fleet.record import Record, Undo
from culture.ctl.fleet.render import Files, render_host
from culture.ctl.fleet.report import show_plan
from culture.ctl.options import add_fleet, add_host
from culture.ctl.units.dropins import nick_of
from culture.errors import ConfigError, CultureError, TemporaryError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this verb."""
    add_fleet(parser)
    add_host(parser, "Apply as this host (default: the one that is named like this machine)")
    parser.add_argument("--dry-run", action="store_true", help="Show what would change, as plan does")
    parser.add_argument("--now", action="store_true", help="Interrupt running turns instead of waiting")
    wait = "How long to wait for running turns (default: 600)"
    parser.add_argument("--wait", type=float, default=600.0, metavar="SECONDS", help=wait)
    confirm = "Take everything back after so many seconds unless 'culturectl confirm' is run"
    parser.add_argument("--confirm-within", type=float, metavar="SECONDS", help=confirm)
    root = "Write below this directory, and leave units alone"
    parser.add_argument("--root", type=Path, metavar="DIR", help=root)


def run(options: argparse.Namespace) -> int:
    """Run this verb and return the exit status."""
    fleet = load_fleet(options)
    host = this_host(fleet, options)
    root = options.root or Path("/")
    files = render_host(fleet, host)
    plan = make_plan(read_files(root), files)
    if problems := find_failures(fleet, host, root):
        raise ConfigError(problems)
    show_plan(host.name, plan, has_diff=options.dry_run)
    if options.dry_run:
        return 1 if plan.changes else 0
    record = Record(root)
    with record.locked():
        if record.pending() is not None:
            hint = "culturectl confirm, or culturectl undo"
            raise TemporaryError("the last apply was not confirmed yet", hint=hint)
        if not plan.changes:
            record.set_applied({str(path): text for path, text in files.items()})
            output.note(options, f"{host.name} is as the fleet says: nothing to do")
            return 0
        _apply(options, plan, files, root, record, host.name)
    return 0


def _apply(
    options: argparse.Namespace, plan: Plan, files: Files, root: Path, record: Record, host: str
) -> None:
    has_units = options.root is None
    undo = apply.prepare_undo(plan, host, record, has_units=has_units)
    paused = drain(_restarting(plan, undo), within_s=options.wait) if has_units and not options.now else []
    record.begin(undo)
    try:
        is_timed = has_units and options.confirm_within
        if is_timed:
            # For the case that this process dies: units may take that long.
            undo_timer.arm(options.confirm_within + apply.LONGEST_S)
        apply.write(plan, files, root, record)
        if has_units:
            apply.follow(plan, undo)
        if is_timed:
            undo_timer.arm(options.confirm_within)
    except BaseException as error:
        # Also after Ctrl-C, everything is as it was before.
        undone = _take_back(undo, root, record, has_units=has_units)
        if isinstance(error, CultureError):
            raise apply.failure(error, undone) from None
        raise
    finally:
        let_go_on(paused)
    if options.confirm_within:
        note = f"taken back in {options.confirm_within:g} s, unless it is confirmed: culturectl confirm"
        output.note(options, note)
    else:
        record.confirm()


def _take_back(undo: Undo, root: Path, record: Record, *, has_units: bool) -> CultureError | None:
    try:
        apply.take_back(undo, root, record, has_units=has_units)
    except CultureError as error:
        return error
    return None


def _restarting(plan: Plan, undo: Undo) -> list[str]:
    """Return the nicks of running agents that are restarted or stopped."""
    units = [unit for unit in plan.units("restart", "stop") if unit in undo.active and unit != SERVER]
    return [nick for unit in units if (nick := nick_of(unit))]
