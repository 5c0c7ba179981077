"""The ledger of a host by the socket of culture-ledger."""

import contextlib
import os
import socket
from pathlib import Path
from typing import Any, Final

from culture.agent.ledger import wire
from culture.errors import CultureError, NotAllowedError, UnavailableError
from culture.store.ledger.records import (
    Answer,
    BudgetState,
    By,
    Hold,
    Limit,
    News,
    Quota,
    Share,
    Spent,
    Use,
)

# Calls take less than a millisecond; the loop of the agent waits meanwhile. While culture-ledger is
# restarted, systemd keeps the connection waiting.
TIMEOUT_S: Final = 5.0


class LedgerClient:
    """Calls culture-ledger over one connection, which it opens when needed, and again when it is lost."""

    def __init__(self, path: Path, nick: str = "", *, timeout_s: float = TIMEOUT_S) -> None:
        """With a nick, the caller is the daemon of that agent; without one, it may only read reports."""
        self._path = path
        self._nick = nick
        self._timeout_s = timeout_s
        self._connection: socket.socket | None = None

    def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def reserve(self, hold: Hold) -> Answer:
        """Reserve money in all budgets of the agent, or in none."""
        return wire.read_answer(self._call("reserve", hold))

    def check(self, agent: str, login: str, amount: int) -> Answer:
        """Return what `reserve` would answer now, without an effect."""
        return wire.read_answer(self._call("check", agent, login, amount))

    def extend(self, hold_id: str, amount: int) -> Answer:
        """Add to a reservation."""
        return wire.read_answer(self._call("extend", hold_id, amount))

    def progress(self, hold_id: str, use: Use) -> None:
        """Record what a running turn used so far."""
        self._call("progress", hold_id, use)

    def settle(self, hold_id: str, use: Use, *, turn: str = "", model: str = "") -> tuple[News, ...]:
        """Replace a reservation by what was used."""
        return wire.read_news(self._call("settle", hold_id, use, turn, model))

    def book(
        self, hold: Hold, use: Use, *, turn: str = "", turns: int = 1, day: str = ""
    ) -> tuple[News, ...]:
        """Record use that was not reserved."""
        return wire.read_news(self._call("book", hold, use, turn, turns, day))

    def void(self, hold_id: str) -> None:
        """Release a reservation of which nothing was used."""
        self._call("void", hold_id)

    def settle_foreign(self, agent: str, owner: str) -> int:
        """Count the reservations of an agent's former processes as spent."""
        return int(self._call("settle_foreign", agent, owner))

    def raise_budget(self, raise_id: str, limit: Limit, by: str) -> None:
        """Add an amount to a budget for today."""
        self._call("raise_budget", raise_id, limit, by)

    def open_quota(self, quota: Quota, agent: str) -> bool:
        """Refuse a login's reservations until a time; return whether that was not known yet."""
        return bool(self._call("open_quota", quota, agent))

    def budgets(self, agent: str) -> list[BudgetState]:
        """Return the budgets of an agent as they are today."""
        return wire.read_budgets(self._call("budgets", agent))

    def spent_today(self, agent: str) -> Spent:
        """Return what an agent used today."""
        return wire.read_spent(self._call("spent_today", agent))

    def spent_in_total(self, agent: str) -> Spent:
        """Return what an agent used on all days."""
        return wire.read_spent(self._call("spent_in_total", agent))

    def report(self, by: By, since: str = "") -> list[Share]:
        """Return what was used since a day, as far as the caller may know."""
        return wire.read_shares(self._call("report", by, since))

    def _call(self, operation: str, *arguments: Any) -> Any:
        try:
            return self._ask(operation, arguments)
        except _ConnectionLostError:
            # culture-ledger was restarted. Ids make the repetition harmless.
            return self._ask(operation, arguments)

    def _ask(self, operation: str, arguments: tuple[Any, ...]) -> Any:
        try:
            if self._connection is None:
                self._connection = self._connect()
            return wire.value_of(_exchange(self._connection, operation, arguments))
        except OSError as error:
            self.close()
            raise self._unavailable(error) from None
        except _ConnectionLostError:
            self.close()
            raise

    def _connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(self._timeout_s)
            connection.connect(os.fspath(self._path))
            if self._nick:
                wire.value_of(_exchange(connection, "hello", (self._nick,)))
        except (OSError, CultureError):
            connection.close()
            raise
        return connection

    def _unavailable(self, error: OSError) -> CultureError:
        if isinstance(error, PermissionError):
            hint = "run it as root or as a member of the group 'culture'"
            return NotAllowedError(f"the socket '{self._path}' is not yours", hint=hint)
        reason = "no answer" if isinstance(error, TimeoutError) else error.strerror
        hint = "systemctl status culture-ledger.socket culture-ledger.service"
        return UnavailableError(f"no ledger at '{self._path}': {reason}", hint=hint)


class _ConnectionLostError(UnavailableError):
    """The other end closed the connection, before or instead of an answer."""


def _exchange(connection: socket.socket, operation: str, arguments: tuple[Any, ...]) -> wire.Json:
    line = b""
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        connection.sendall(wire.encode({"do": operation, "with": arguments}))
        while not line.endswith(b"\n"):
            part = connection.recv(wire.MAX_LINE_BYTES)
            if not part:
                break
            line += part
    if not line.endswith(b"\n"):
        raise _ConnectionLostError("culture-ledger closed the connection")
    return wire.decode(line)
