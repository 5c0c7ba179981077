"""A host's disk: an overlay on directories that are never written to, with what the host writes in memory."""

import contextlib
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Disk:
    root: Path
    # What was written; below another disk it makes a host that continues from there.
    written: Path


@contextlib.contextmanager
def in_memory(directory: Path) -> Iterator[Path]:
    """A file system of its own in this directory: fast, and gone as a whole."""
    _run("mount", "-t", "tmpfs", "-o", "mode=0755", "culture-host", directory)
    try:
        yield directory
    finally:
        # Lazily: what still looks at it (a shell of the person who debugs) must not keep it for ever.
        _run("umount", "--lazy", directory)


@contextlib.contextmanager
def disk(directory: Path, lower: Sequence[Path]) -> Iterator[Disk]:
    """Topmost first in `lower`. `directory`, which is made and removed, should be in memory."""
    root, written, work = (directory / name for name in ("root", "written", "work"))
    for made in (directory, root, written, work):
        made.mkdir(mode=0o755)
    layers = f"lowerdir={':'.join(map(str, lower))},upperdir={written},workdir={work}"
    _run("mount", "-t", "overlay", "-o", layers, "culture-host", root)
    try:
        yield Disk(root, written)
    finally:
        _run("umount", root)
        shutil.rmtree(directory)


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True)
