"""Append to log files, replace redacted lines in them, and commit them to git."""

import errno
import hashlib
import os
import shutil
import subprocess
from collections.abc import Collection
from datetime import datetime
from pathlib import Path
from typing import Final
from urllib.parse import quote

from culture.errors import UnavailableError
from culture.names import fold
from culture.store.loglines import FILE as INDEX

NAME_BYTES: Final = 200
GIT_S: Final = 60.0
DIGEST_BYTES: Final = 16
_ALL: Final = ("--", ".", f":(exclude){INDEX}*")


def file_name(channel: str) -> str:
    """Return the directory name of a channel: one path component, the same for every spelling."""
    name = quote(fold(channel), safe="#!$&'()+,;=@[]^`{}~")
    if len(name) <= NAME_BYTES:
        return name
    return f"{name[: NAME_BYTES - 17]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"


def digest(line: bytes) -> bytes:
    """Return the digest that identifies a line."""
    return hashlib.blake2b(line, digest_size=DIGEST_BYTES).digest()


def append(path: Path, data: bytes) -> None:
    """Append data to a file, all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab", buffering=0) as file:
        before = file.tell()
        try:
            if file.write(data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            # Undo a partial write: the caller retries with all of it.
            file.truncate(before)
            raise


def replace(path: Path, digests: Collection[bytes], text: str) -> None:
    """Replace the lines with these digests by one with the time of the first; ignore a missing file."""
    try:
        lines = path.read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        return
    found = [number for number, line in enumerate(lines) if digest(line) in digests]
    if not found:
        return
    when, _, _ = lines[found[0]].partition(b" ")
    lines[found[0]] = when + f" {text}\n".encode()
    fresh = path.with_name(f".{path.name}.part")
    with fresh.open("wb") as file:
        file.writelines(line for number, line in enumerate(lines) if number not in found[1:])
        file.flush()
        # After a crash either the old or the new file is complete.
        os.fsync(file.fileno())
    shutil.copymode(path, fresh)
    fresh.rename(path)


def commit(directory: Path, now: datetime) -> None:
    """Commit changed files to git, if there are any."""
    if not directory.exists():
        return
    if not (directory / ".git").exists():
        _git(directory, "init", "--quiet")
    _git(directory, "add", "--all", *_ALL)
    if _git(directory, "status", "--porcelain", *_ALL):
        identity = ("-c", "user.name=culture", "-c", "user.email=culture@localhost")
        _git(directory, *identity, "commit", "--quiet", "-m", f"logs until {now:%Y-%m-%d %H:%M}")


def _git(directory: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(directory), *arguments],
            capture_output=True,
            text=True,
            timeout=GIT_S,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(f"git: {error}") from None
    if done.returncode:
        raise UnavailableError(f"git {arguments[0]}: {done.stderr.strip()}")
    return done.stdout
