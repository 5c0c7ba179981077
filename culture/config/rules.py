"""Rules that a field of a model must obey beyond its type."""

import dataclasses
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

CHECK = "check"
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_CREDENTIAL: Final = re.compile(r"[A-Za-z0-9_@+-][A-Za-z0-9_.@+-]*")
# Returns what is wrong with a value, or None.
Check = Callable[[Any], str | None]


def checked(check: Check, **options: Any) -> Any:
    """Return a dataclass field with a rule."""
    return dataclasses.field(metadata={CHECK: check}, **options)


def each(check: Check) -> Check:
    """Return a rule that every item of a list must obey."""

    def check_all(values: Sequence[Any]) -> str | None:
        return next((wrong for wrong in map(check, values) if wrong), None)

    return check_all


def absolute_path(path: str) -> str | None:
    """Return what is wrong with an absolute path, or None."""
    if _CONTROL.search(path):
        # It would be a line of its own in a unit file.
        return f"{path!r} has control characters"
    return None if not path or path.startswith("/") else f"'{path}' is not an absolute path"


def credential_name(name: str) -> str | None:
    """Return what is wrong with the name of a credential, which is a file name and occurs in units."""
    if not name or _CREDENTIAL.fullmatch(name):
        return None
    return f"{name!r} is not the name of a credential: letters, digits, '_', '-', '.', '@' and '+'"


def none_twice(names: Sequence[str]) -> str | None:
    """Return what occurs twice in a list, or None."""
    twice = next((name for name in names if names.count(name) > 1), None)
    return f"'{twice}' stands twice" if twice is not None else None


def off_or_at_least(least: int) -> Check:
    """Return a rule for a number that is 0 (off) or at least this."""
    return lambda value: None if not value else at_least(least)(value)


def at_least(least: int) -> Check:
    """Return a rule for a number that is at least this."""
    return lambda value: None if value >= least else f"must be at least {least}, is {value}"
