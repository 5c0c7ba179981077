"""Write files atomically: readers see the old file or the new one, never half of it."""

import contextlib
import os
import stat
from pathlib import Path

from culture.errors import NotAllowedError, UnavailableError


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file by rename. A file that exists keeps its owner and mode."""
    temporary = path.with_name(f".{path.name}.part")
    temporary.write_bytes(data)
    with contextlib.suppress(FileNotFoundError, PermissionError):
        old = path.stat()
        temporary.chmod(stat.S_IMODE(old.st_mode))
        os.chown(temporary, old.st_uid, old.st_gid)
    temporary.replace(path)


def below(root: Path, path: Path) -> Path:
    """Return an absolute path as it is below another root directory."""
    return root / path.relative_to("/")


def write_below(root: Path, path: Path, text: str) -> Path:
    """Write a file below a root directory, and return where it is."""
    file = below(root, path)
    replace_file(file, text)
    return file


def remove_file(file: Path) -> None:
    """Remove a file, and a directory of drop-ins if nothing else is in it. Report errors for people."""
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        raise NotAllowedError(f"cannot remove '{file}': {error.strerror}", hint="sudo !!") from None
    if file.parent.suffix == ".d":
        with contextlib.suppress(OSError):
            file.parent.rmdir()


def replace_file(file: Path, text: str) -> None:
    """Write a file and the directories above it. Report errors for people."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, text.encode())
    except PermissionError as error:
        raise NotAllowedError(f"cannot write '{error.filename}': {error.strerror}", hint="sudo !!") from None
    except OSError as error:
        raise UnavailableError(f"cannot write '{error.filename or file}': {error.strerror}") from None


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
