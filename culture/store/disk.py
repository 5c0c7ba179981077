"""Free disk space."""

import os
from pathlib import Path
from typing import Final

# Servers and agents need at least this much free space.
FULL_BYTES: Final = 1024 * 1024
_UNITS: Final = (("GB", 10**9), ("MB", 10**6), ("kB", 10**3))


def is_full(place: Path) -> bool:
    """Return whether the disk of a directory is full; the directory need not exist yet."""
    usage = os.statvfs(_existing(place))
    has_inodes = usage.f_files == 0 or usage.f_favail > 0
    return usage.f_bavail * usage.f_frsize < FULL_BYTES or not has_inodes


def free_bytes(place: Path) -> int:
    """Return the free space for a directory; the directory need not exist yet."""
    usage = os.statvfs(_existing(place))
    return usage.f_bavail * usage.f_frsize


def describe(place: Path) -> str:
    """Return the free space for a directory as text, such as `12.3 GB free in '/var/lib/culture'`."""
    there = _existing(place)
    return f"{'full: ' if is_full(there) else ''}{_amount(free_bytes(there))} free in '{there}'"


def _existing(place: Path) -> Path:
    return next((each for each in (place, *place.parents) if os.path.isdir(each)), Path("/"))


def _amount(count: int) -> str:
    unit, size = next(((unit, size) for unit, size in _UNITS if count >= size), ("bytes", 1))
    return f"{count / size:.1f} {unit}" if size > 1 else f"{count} {unit}"
