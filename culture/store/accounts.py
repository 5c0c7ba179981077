"""The accounts database. Names are compared folded, as nicks are."""

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
    """There is already an account of that name."""


@dataclass(frozen=True, slots=True)
class Account:
    """The public data of an account."""

    name: str
    created_at: float


def check_account_name(name: str) -> str | None:
    """Return what is wrong with an account name, or None."""
    if not is_nick(name):
        return f"'{name}' is not a name for an account: it is spelled as a nick is"
    return None if len(name) <= NAME_LENGTH else f"'{name}' is longer than {NAME_LENGTH} letters"


def check_password(password: str) -> str | None:
    """Return what is wrong with a password, or None."""
    if not password:
        return "the password is empty"
    if len(password.encode()) > PASSWORD_BYTES:
        return f"the password is longer than {PASSWORD_BYTES} bytes"
    return "the password has a NUL in it" if "\0" in password else None


class Accounts:
    """The accounts of this host. Each call opens the file, so any thread or process may use it."""

    def __init__(
        self, path: Path, *, cost: Cost | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._path = path
        self._cost = cost or Cost()
        self._clock = clock
        # Without WAL, logins still work on a full disk; the file is rarely written.
        prepare(path, journal="DELETE")
        self._disguise = self._secret("disguise")
        self._nobody = nobodys_password(self._cost)

    def add(self, name: str, password: str) -> None:
        """Create an account. Raise UsageError for a bad name or password, AccountExistsError if it exists."""
        for wrong in (check_account_name(name), check_password(password)):
            if wrong:
                raise UsageError(wrong)
        # Hash the password before the file is locked.
        row = (fold(name), name, self._clock(), *self._secrets_of(password))
        with transaction(self._path) as database:
            try:
                database.execute("INSERT INTO accounts VALUES (?, ?, ?, ?, ?)", row)
            except sqlite3.IntegrityError:
                raise AccountExistsError(
                    f"there is already an account '{name}'", hint=f"culturectl accounts password {name}"
                ) from None

    def set_password(self, name: str, password: str) -> None:
        """Change the password of an account."""
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
        """Delete an account and its certificates."""
        with transaction(self._path) as database:
            if not database.execute("DELETE FROM accounts WHERE key = ?", (fold(name),)).rowcount:
                raise _no_account(name)

    def list(self) -> list[Account]:
        """Return all accounts, sorted by name."""
        with reading(self._path) as database:
            return [
                Account(*row)
                for row in database.execute("SELECT name, created_at FROM accounts ORDER BY key")
            ]

    def add_certificate(self, name: str, fingerprint: str) -> None:
        """Allow logins to the account with this client certificate."""
        with transaction(self._path) as database:
            if not database.execute("SELECT 1 FROM accounts WHERE key = ?", (fold(name),)).fetchone():
                raise _no_account(name)
            database.execute("INSERT OR REPLACE INTO certificates VALUES (?, ?)", (fingerprint, fold(name)))

    def verify(self, name: str, password: str) -> str | None:
        """Return the account's name in its own spelling if this is its password, else None."""
        row = self._find("name, password", name)
        # Hash in any case, so that the response time does not reveal whether the account exists.
        found, hashed = row or (None, self._nobody)
        return found if is_password(password, hashed) else None

    def scram(self, name: str) -> tuple[str | None, ScramSecret]:
        """Return name and SCRAM secret; for an unknown account None and a decoy that never matches."""
        row = self._find("name, scram", name)
        if row is not None:
            return row[0], parse_scram(row[1])
        salt = hmac.digest(self._disguise, fold(name).encode(), "sha256")[:SALT_BYTES]
        keys = (secrets.token_bytes(32), secrets.token_bytes(32))
        return None, ScramSecret(salt, self._cost.scram_iterations, *keys)

    def find(self, name: str) -> str | None:
        """Return the name of an account in its own spelling, or None."""
        row = self._find("name", name)
        return row[0] if row else None

    def of_certificate(self, fingerprint: str) -> str | None:
        """Return the account that this client certificate may log in to, or None."""
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
        """Return random bytes that stay the same as long as the file exists."""
        with transaction(self._path) as database:
            database.execute("INSERT OR IGNORE INTO secrets VALUES (?, ?)", (name, secrets.token_bytes(32)))
            value: bytes = database.execute("SELECT value FROM secrets WHERE name = ?", (name,)).fetchone()[0]
        return value

    def _secrets_of(self, password: str) -> tuple[str, str]:
        return hash_password(password, self._cost), format_scram(new_scram_secret(password, self._cost))


def _no_account(name: str) -> CultureError:
    return NoInputError(f"there is no account '{name}'", hint="culturectl accounts list")
