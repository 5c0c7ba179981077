"""Rules for the fields of a model: what a value must be beyond its type."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

CHECK = "check"
Check = Callable[[Any], str | None]
"""Returns what is wrong with a value, or None."""


def checked(check: Check, **options: Any) -> Any:
    """A dataclass field with a rule."""
    return dataclasses.field(metadata={CHECK: check}, **options)


def each(check: Check) -> Check:
    """The rule holds for every item of a list."""

    def check_all(values: Sequence[Any]) -> str | None:
        return next((wrong for wrong in map(check, values) if wrong), None)

    return check_all


def absolute_path(path: str) -> str | None:
    return None if not path or path.startswith("/") else f"'{path}' is not an absolute path"


def none_twice(names: Sequence[str]) -> str | None:
    twice = next((name for name in names if names.count(name) > 1), None)
    return f"'{twice}' stands twice" if twice is not None else None


def off_or_at_least(least: int) -> Check:
    """0 switches it off."""
    return lambda value: None if not value else at_least(least)(value)


def at_least(least: int) -> Check:
    return lambda value: None if value >= least else f"must be at least {least}, is {value}"
