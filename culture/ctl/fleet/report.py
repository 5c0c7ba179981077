"""Show a plan to people and to programs."""

import difflib
from collections.abc import Iterator, Sequence

from culture.ctl import output
from culture.ctl.fleet.plan import Change, Plan


def show_plan(host: str, plan: Plan, *, has_diff: bool, is_json: bool = False) -> None:
    """Print what changes on a host, then the difference of each file."""
    show_plan_rows(plan_rows(host, plan), is_json=is_json)
    if has_diff and not is_json:
        for change in plan.changes:
            output.show(["", *difference(change)])


def show_plan_rows(rows: Sequence[output.Row], *, is_json: bool) -> None:
    """Print what changes, on one host or several."""
    if is_json:
        output.show_json(rows)
    elif rows:
        cells = ([row["host"], row["action"], row["what"], row["why"]] for row in rows)
        output.show_table(("HOST", "ACTION", "WHAT", "WHY"), cells)


def plan_rows(host: str, plan: Plan) -> list[output.Row]:
    """Return one row for each file and each unit."""
    files = [
        {"host": host, "action": change.kind, "what": str(change.path), "why": ""} for change in plan.changes
    ]
    units = [
        {"host": host, "action": each.action, "what": each.unit, "why": each.why} for each in plan.actions
    ]
    return [*files, *units]


def difference(change: Change, before: str = "now", after: str = "fleet") -> Iterator[str]:
    """Return a unified diff of a file."""
    old, new = ((text or "").splitlines() for text in (change.old, change.new))
    names = (f"{change.path} ({before})", f"{change.path} ({after})")
    return difflib.unified_diff(old, new, *names, lineterm="")
