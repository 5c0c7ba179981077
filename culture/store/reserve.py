"""Reserve disk space in a file, which is deleted if the server has to start on a full disk."""

import contextlib
import os
from pathlib import Path
from typing import Final

from culture.store.database import FOR_THE_OWNER

# SQLite creates -wal and -shm files of 32 KB and more, also to read a database.
BYTES: Final = 256 * 1024


def create_reserve(path: Path) -> None:
    """Create the reserve if it is missing and there is space."""
    with contextlib.suppress(OSError):
        file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, FOR_THE_OWNER)
        try:
            os.posix_fallocate(file, 0, BYTES)
        except OSError:
            path.unlink()
        finally:
            os.close(file)


def release_reserve(path: Path) -> bool:
    """Delete the reserve; return whether there was one."""
    with contextlib.suppress(OSError):
        path.unlink()
        return True
    return False
