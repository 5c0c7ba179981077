"""Cache of account names: look up an account in microseconds, because every change of nick does."""

import os
import sqlite3
import time
from pathlib import Path
from typing import Final

from culture.errors import TemporaryError
from culture.names import Folded, fold

# File times are only this exact: a later write within this time may leave the same time.
EXACT_NS: Final = 50_000_000


class AccountNameLookup:
    """Caches all names until the file changes. It never waits for a writer."""

    def __init__(self, path: Path) -> None:
        self._path, self._file = path, os.fspath(path)
        self._connection: sqlite3.Connection | None = None
        # A restored backup is another file under the same name.
        self._inode = 0
        self._names: dict[Folded, str] = {}
        # Inode, modification time and size of the file that the names were read from.
        self._version: tuple[int, int, int] | None = None

    def find(self, name: str) -> str | None:
        """Return the account's name in its own spelling, or None. Raise TemporaryError while it is locked."""
        try:
            found = os.stat(self._file)
            version = (found.st_ino, found.st_mtime_ns, found.st_size)
            if version != self._version:
                self._read(found.st_ino)
                is_settled = time.time_ns() - found.st_mtime_ns > EXACT_NS
                self._version = version if is_settled else None
        except (OSError, sqlite3.Error) as error:
            self._version = None
            raise TemporaryError(f"cannot use '{self._path}': {error}") from None
        return self._names.get(fold(name))

    def close(self) -> None:
        """Close the database."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _read(self, inode: int) -> None:
        if self._connection is None or inode != self._inode:
            self.close()
            uri = f"{self._path.absolute().as_uri()}?mode=ro"
            self._connection = sqlite3.connect(uri, uri=True, timeout=0, isolation_level=None)
            self._inode = inode
        self._names = dict(self._connection.execute("SELECT key, name FROM accounts"))
