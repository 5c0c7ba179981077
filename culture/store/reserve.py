"""A reserve: room on the disk that is laid by, and given up at a start for which there is none."""

import contextlib
import os
from pathlib import Path
from typing import Final

from culture.store.database import FOR_THE_OWNER

BYTES: Final = 256 * 1024
"""SQLite puts files of 32 KB and more beside one that it opens, also to read it."""


def lay_by(path: Path) -> None:
    """If there is none yet, and room for it."""
    with contextlib.suppress(OSError):
        file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, FOR_THE_OWNER)
        try:
            os.posix_fallocate(file, 0, BYTES)
        except OSError:
            path.unlink()
        finally:
            os.close(file)


def give_up(path: Path) -> bool:
    """Whether there is more room now."""
    with contextlib.suppress(OSError):
        path.unlink()
        return True
    return False
