"""The secret key with which this host signs its events, to recognise them when peers return them."""

import os
import secrets
from pathlib import Path
from typing import Final

from culture.errors import NotAllowedError
from culture.store.database import FOR_THE_OWNER

_BYTES: Final = 32


def read_or_make_key(path: Path) -> bytes:
    """Read the key, or create one if it is missing or incomplete."""
    try:
        key = path.read_bytes() if path.exists() else b""
        if len(key) < _BYTES:
            key = secrets.token_bytes(_BYTES)
            _write(path, key)
    except OSError as error:
        raise NotAllowedError(f"cannot read or write '{path}': {error.strerror}") from None
    return key


def _write(path: Path, key: bytes) -> None:
    fresh = path.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    fd = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, FOR_THE_OWNER)
    with os.fdopen(fd, "wb") as file:
        file.write(key)
    fresh.rename(path)
