"""What the last apply wrote on this host, and what is needed to take it back."""

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from culture.config import paths
from culture.ctl.files import below, write_secret
from culture.ctl.fleet.render import Files
from culture.errors import NotAllowedError, TemporaryError

DIRECTORY: Final = paths.SYSTEM_STATE / "fleet"
# What the last apply wrote, for `culturectl drift`.
_APPLIED: Final = "applied.json"
# How to take back an apply that was not confirmed yet. A boot undoes it: see culture-undo.service.
PENDING: Final = "pending.json"
# The same for the last one that was.
_PREVIOUS: Final = "previous.json"


@dataclass(frozen=True, slots=True)
class Undo:
    """How a host was before an apply."""

    host: str
    # The text that each changed file had; None if there was no such file.
    files: Mapping[str, str | None]
    # What the apply does to units, by name.
    actions: Mapping[str, str]
    # Which of these units ran.
    active: tuple[str, ...]
    # What the apply before wrote; None if there was none.
    applied: Mapping[str, str] | None


class Record:
    """The record on disk, below a root directory."""

    def __init__(self, root: Path) -> None:
        self._directory = below(root, DIRECTORY)

    @contextlib.contextmanager
    def locked(self, *, wait: bool = False) -> Iterator[None]:
        """Keep others from applying at the same time. Either wait for them, or raise TemporaryError."""
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = (self._directory / "lock").open("w")
        except PermissionError as error:
            raise NotAllowedError(f"cannot write '{error.filename}'", hint="sudo !!") from None
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                raise TemporaryError("another culturectl is applying here", hint="try again later") from None
            yield

    def applied(self) -> Files | None:
        """Return the files that the last apply wrote, or None if there was none."""
        found = self._read(_APPLIED)
        return None if found is None else {Path(path): text for path, text in found.items()}

    def set_applied(self, files: Mapping[str, str] | None) -> None:
        """Remember what is written; None if nothing is any more."""
        if files is None:
            (self._directory / _APPLIED).unlink(missing_ok=True)
        else:
            self._write(_APPLIED, dict(files))

    def pending(self) -> Undo | None:
        """Return how to take back the apply that was not confirmed."""
        return _undo(self._read(PENDING))

    def previous(self) -> Undo | None:
        """Return how to take back the last apply that was confirmed."""
        return _undo(self._read(_PREVIOUS))

    def begin(self, undo: Undo) -> None:
        """Remember how to take an apply back, on disk, before it begins."""
        self._write(PENDING, asdict(undo))

    def confirm(self) -> None:
        """Keep the apply; it can still be taken back by hand."""
        (self._directory / PENDING).replace(self._directory / _PREVIOUS)

    def forget(self) -> None:
        """Remember nothing to take back: it is done."""
        for name in (PENDING, _PREVIOUS):
            (self._directory / name).unlink(missing_ok=True)

    def _write(self, name: str, data: object) -> None:
        write_secret(self._directory / name, json.dumps(data).encode())

    def _read(self, name: str) -> dict[str, str] | None:
        path = self._directory / name
        try:
            data: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except PermissionError:
            raise NotAllowedError(f"cannot read '{path}'", hint="sudo !!") from None
        return data


def is_managed() -> bool:
    """Return whether a fleet file was applied on this host, as far as this user may see that."""
    return os.path.exists(DIRECTORY / _APPLIED)


def _undo(data: Mapping[str, object] | None) -> Undo | None:
    if data is None:
        return None
    return Undo(**{**data, "active": tuple(data["active"])})  # type: ignore[arg-type]
