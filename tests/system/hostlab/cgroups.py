"""A cgroup for each host in every hierarchy, below the one that the tests run in."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from system.hostlab.waiting import eventually

# On cgroup v1: the hierarchies that systemd manages units in.
CONTROLLERS = ("cpu", "cpuacct", "blkio", "memory", "devices", "pids")


@contextlib.contextmanager
def private_cgroups(name: str) -> Iterator[list[Path]]:
    """nspawn --keep-unit makes its cgroups where it is started: two hosts in one place would share them."""
    made = [cgroup / name for cgroup in sorted(set(_own_cgroups()))]
    for cgroup in made:
        cgroup.mkdir()
    try:
        yield made
    finally:
        for cgroup in made:
            eventually(
                lambda cgroup=cgroup: _is_removed(cgroup), within_s=10, what=f"cgroup '{cgroup}' is gone"
            )


def _own_cgroups() -> Iterator[Path]:
    mounted = dict(_hierarchies())
    for entry in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = entry.split(":", 2)
        for controller in controllers.split(","):
            if controller in mounted:
                yield mounted[controller] / path.lstrip("/")


def _hierarchies() -> Iterator[tuple[str, Path]]:
    """Where each controller's hierarchy is mounted; '' is cgroup v2, 'name=systemd' systemd's own."""
    for entry in Path("/proc/self/mountinfo").read_text().splitlines():
        left, right = entry.split(" - ")
        kind, _, options = right.split(" ", 2)
        mountpoint = Path(left.split()[4])
        if kind == "cgroup2":
            yield "", mountpoint
        elif kind == "cgroup":
            for option in options.split(","):
                if option in CONTROLLERS or option.startswith("name="):
                    yield option, mountpoint


def _is_removed(cgroup: Path) -> bool:
    """A cgroup goes only when it is empty, and a killed process leaves it a moment later."""
    if not cgroup.exists():
        return True
    below = sorted((path for path in cgroup.rglob("*") if path.is_dir()), reverse=True)
    with contextlib.suppress(OSError):
        for path in [*below, cgroup]:
            path.rmdir()
    return not cgroup.exists()
