"""Write files atomically: readers see the old file or the new one, never half of it."""

import os
from pathlib import Path


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file by rename."""
    temporary = path.with_name(f".{path.name}.part")
    temporary.write_bytes(data)
    temporary.replace(path)


def write_secret(path: Path, data: bytes) -> None:
    """Replace a file by one that only its owner can read, and return when it is on disk."""
    temporary = path.with_name(f".{path.name}.part")
    temporary.unlink(missing_ok=True)
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
