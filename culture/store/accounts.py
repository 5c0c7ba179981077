"""Accounts: who may log in. Names are compared folded, as nicks are."""

import hmac
import secrets
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from culture.errors import CultureError, NoInputError, UsageError
from culture.names import fold, is_nick
from culture.store.database import prepare, reading, transaction
from culture.store.passwords import (
    SALT_BYTES,
    Cost,
    ScramSecret,
    format_scram,
    hash_password,
    is_password,
    new_scram_secret,
    nobodys_password,
    parse_scram,
)

FILE: Final = "accounts.db"
NAME_LENGTH: Final = 64
PASSWORD_BYTES: Final = 1024


class AccountExistsError(UsageError):
    """Somebody has an account of that name."""


@dataclass(frozen=True, slots=True)
class Account:
    name: str
    created_at: float


def check_account_name(name: str) -> str | None:
    """What is wrong with a name, or None."""
    if not is_nick(name):
        return f"'{name}' is not a name for an account: it is spelled as a nick is"
    return None if len(name) <= NAME_LENGTH else f"'{name}' is longer than {NAME_LENGTH} letters"


def check_password(password: str) -> str | None:
    if not password:
        return "the password is empty"
    if len(password.encode()) > PASSWORD_BYTES:
        return f"the password is longer than {PASSWORD_BYTES} bytes"
    return "the password has a NUL in it" if "\0" in password else None


class Accounts:
    """Every call opens the file for itself, so that threads and other processes may use it too."""

    def __init__(
        self, path: Path, *, cost: Cost | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._path = path
        self._cost = cost or Cost()
        self._clock = clock
        # People log in on a full disk too; what they read is hardly ever written.
        prepare(path, journal="DELETE")
        self._disguise = self._secret("disguise")
        self._nobody = nobodys_password(self._cost)

    def add(self, name: str, password: str) -> None:
        for wrong in (check_account_name(name), check_password(password)):
            if wrong:
                raise UsageError(wrong)
        # The work is done before the file is locked.
        row = (fold(name), name, self._clock(), *self._secrets_of(password))
        with transaction(self._path) as database:
            try:
                database.execute("INSERT INTO accounts VALUES (?, ?, ?, ?, ?)", row)
            except sqlite3.IntegrityError:
                raise AccountExistsError(
                    f"there is an account '{name}' already", hint=f"culturectl accounts password {name}"
                ) from None

    def set_password(self, name: str, password: str) -> None:
        if wrong := check_password(password):
            raise UsageError(wrong)
        hashed, scram = self._secrets_of(password)
        with transaction(self._path) as database:
            changed = database.execute(
                "UPDATE accounts SET password = ?, scram = ? WHERE key = ?", (hashed, scram, fold(name))
            )
            if not changed.rowcount:
                raise _no_account(name)

    def remove(self, name: str) -> None:
        with transaction(self._path) as database:
            if not database.execute("DELETE FROM accounts WHERE key = ?", (fold(name),)).rowcount:
                raise _no_account(name)

    def list(self) -> list[Account]:
        with reading(self._path) as database:
            return [
                Account(*row)
                for row in database.execute("SELECT name, created_at FROM accounts ORDER BY key")
            ]

    def add_certificate(self, name: str, fingerprint: str) -> None:
        """Whoever connects with this client certificate may log in to the account."""
        with transaction(self._path) as database:
            if not database.execute("SELECT 1 FROM accounts WHERE key = ?", (fold(name),)).fetchone():
                raise _no_account(name)
            database.execute("INSERT OR REPLACE INTO certificates VALUES (?, ?)", (fingerprint, fold(name)))

    def verify(self, name: str, password: str) -> str | None:
        """The account's name as it is written, if this is its password."""
        row = self._find("name, password", name)
        # Whether there is such an account must not be told by how long the answer takes.
        found, hashed = row or (None, self._nobody)
        return found if is_password(password, hashed) else None

    def scram(self, name: str) -> tuple[str | None, ScramSecret]:
        """The name as it is written, and what SCRAM needs; of nobody, what looks the same and never fits."""
        row = self._find("name, scram", name)
        if row is not None:
            return row[0], parse_scram(row[1])
        salt = hmac.digest(self._disguise, fold(name).encode(), "sha256")[:SALT_BYTES]
        keys = (secrets.token_bytes(32), secrets.token_bytes(32))
        return None, ScramSecret(salt, self._cost.scram_iterations, *keys)

    def find(self, name: str) -> str | None:
        """The name of an account as it is written."""
        row = self._find("name", name)
        return row[0] if row else None

    def of_certificate(self, fingerprint: str) -> str | None:
        query = "SELECT name FROM certificates JOIN accounts ON account = key WHERE fingerprint = ?"
        with reading(self._path) as database:
            row = database.execute(query, (fingerprint,)).fetchone()
        return row[0] if row else None

    def _find(self, columns: str, name: str) -> tuple[str, ...] | None:
        with reading(self._path) as database:
            row: tuple[str, ...] | None = database.execute(
                f"SELECT {columns} FROM accounts WHERE key = ?", (fold(name),)
            ).fetchone()
        return row

    def _secret(self, name: str) -> bytes:
        """Random bytes that stay the same for as long as the file exists."""
        with transaction(self._path) as database:
            database.execute("INSERT OR IGNORE INTO secrets VALUES (?, ?)", (name, secrets.token_bytes(32)))
            value: bytes = database.execute("SELECT value FROM secrets WHERE name = ?", (name,)).fetchone()[0]
        return value

    def _secrets_of(self, password: str) -> tuple[str, str]:
        return hash_password(password, self._cost), format_scram(new_scram_secret(password, self._cost))


def _no_account(name: str) -> CultureError:
    return NoInputError(f"there is no account '{name}'", hint="culturectl accounts list")
