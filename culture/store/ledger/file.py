"""The ledger of a host in SQLite: reservations before a model is called, and what was used in the end.

`BEGIN IMMEDIATE` comes before every read that a write depends on, so agents in several processes never
reserve the same money twice. Commits wait for the disk: money that was spent is not forgotten in a power
failure.
"""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Final, get_args

from culture.errors import UnavailableError, UsageError
from culture.store.database import BUSY_S, MIGRATIONS, prepare
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
    Told,
    Use,
    usd,
)

FILE: Final = "ledger.db"
_INSERT: Final = """
INSERT INTO entries VALUES (:id, :kind, :state, :day, :host, :agent, :backend, :model, :task, :turn, :owner,
:turns, :held, :cost, 0, :input_tokens, :cached_tokens, :output_tokens, :now_ms, :ended_ms)
ON CONFLICT DO NOTHING
"""
_REPORT: Final = """
SELECT {column}, sum(turns * (kind = 'turn' AND state = 'settled')),
sum(kind <> 'turn' AND state = 'settled'),
sum(input_tokens * (state = 'settled')), sum(cached_tokens * (state = 'settled')),
sum(output_tokens * (state = 'settled')), sum(cost * (state = 'settled')),
sum(max(held, cost) * (state = 'held'))
FROM entries WHERE state <> 'void' AND day >= ? AND (? = '' OR agent = ?) GROUP BY {column} ORDER BY {order}
"""

# The budgets of an agent: its own, and those that it shares.
LimitsOf = Callable[[str], Sequence[Limit]]


class LedgerFile:
    """The ledger, used by one thread; other processes may use the same file."""

    def __init__(
        self,
        path: Path,
        limits_of: LimitsOf,
        *,
        wall_clock: Callable[[], float],
        warn_at: float = 0.8,
    ) -> None:
        self._path = path
        self._limits_of = limits_of
        self._wall_clock = wall_clock
        self._warn_at = warn_at
        prepare(path, MIGRATIONS / "ledger")
        with _told(path):
            self._connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    # Reservations

    def reserve(self, hold: Hold) -> Answer:
        """Reserve money in all budgets of the agent, or in none. The same id again has no effect."""
        with self._at_once():
            quota = self._quota(hold.spender.login)
            if quota is not None:
                return Answer(quota=quota)
            shortage = self._shortage(hold.spender.agent, hold.amount)
            if shortage is not None:
                return Answer(shortage, news=self._exhausted(shortage, hold.amount))
            self._insert(hold, "held", Use(), "")
            return Answer()

    def check(self, agent: str, login: str, amount: int) -> Answer:
        """Return what `reserve` would answer now, without an effect."""
        with _told(self._path):
            return Answer(self._shortage(agent, amount), self._quota(login))

    def extend(self, hold_id: str, amount: int) -> Answer:
        """Add to a reservation whose turn needs more, if all budgets of the agent cover it.

        The budgets are those of the day on which the turn began, because the whole turn counts on that day.
        """
        with self._at_once():
            row = self._connection.execute(
                "SELECT agent, day FROM entries WHERE id = ? AND state = 'held'", (hold_id,)
            ).fetchone()
            if row is None:
                return Answer()
            agent, day = row
            shortage = self._shortage(agent, amount, day)
            if shortage is not None:
                # The budget of a day that is over is nobody's business any more.
                return Answer(shortage, news=self._exhausted(shortage, amount) if day == self._today else ())
            self._connection.execute("UPDATE entries SET held = held + ? WHERE id = ?", (amount, hold_id))
            return Answer()

    def progress(self, hold_id: str, use: Use) -> None:
        """Record what a running turn used so far, for the case that nobody reports its end."""
        with self._at_once():
            self._connection.execute(
                """
                UPDATE entries SET cost = ?, input_tokens = ?, cached_tokens = ?, output_tokens = ?
                WHERE id = ? AND state = 'held'
                """,
                (use.cost or 0, *use[:3], hold_id),
            )

    def settle(self, hold_id: str, use: Use, *, turn: str = "", model: str = "") -> tuple[News, ...]:
        """Replace a reservation by what was used.

        Without a known cost, the reservation counts as spent, or the cost so far if that is more.
        """
        is_assumed = use.cost is None
        with self._at_once():
            row = self._connection.execute(
                f"""
                UPDATE entries SET state = 'settled', cost = {"max(held, cost)" if is_assumed else ":cost"},
                is_assumed = (:is_assumed AND held > cost), held = 0, turn = :turn, ended_ms = :now_ms,
                model = CASE :model WHEN '' THEN model ELSE :model END,
                input_tokens = max(input_tokens, :input_tokens),
                cached_tokens = max(cached_tokens, :cached_tokens),
                output_tokens = max(output_tokens, :output_tokens)
                WHERE id = :id AND state = 'held' RETURNING agent
                """,
                {
                    **use._asdict(),
                    "id": hold_id,
                    "turn": turn,
                    "model": model,
                    "is_assumed": is_assumed,
                    "now_ms": self._now_ms,
                },
            ).fetchone()
            return self._warnings(row[0]) if row is not None else ()

    def book(
        self, hold: Hold, use: Use, *, turn: str = "", turns: int = 1, day: str = ""
    ) -> tuple[News, ...]:
        """Record use that was not reserved. Booking the same id again has no effect."""
        with self._at_once():
            self._insert(hold, "settled", use, turn, turns, day)
            return self._warnings(hold.spender.agent)

    def void(self, hold_id: str) -> None:
        """Release a reservation of which nothing was used."""
        with self._at_once():
            self._connection.execute(
                "UPDATE entries SET state = 'void', held = 0, ended_ms = ? WHERE id = ? AND state = 'held'",
                (self._now_ms, hold_id),
            )

    def settle_foreign(self, agent: str, owner: str) -> int:
        """Count the reservations of an agent's former processes as spent; return how many there were."""
        with self._at_once():
            return self._connection.execute(
                """
                UPDATE entries SET state = 'settled', cost = max(held, cost), is_assumed = (held > cost),
                held = 0, ended_ms = ? WHERE agent = ? AND owner <> ? AND state = 'held'
                """,
                (self._now_ms, agent, owner),
            ).rowcount

    def raise_budget(self, raise_id: str, limit: Limit, by: str) -> None:
        """Add an amount to a budget for today. Raising it with the same id again has no effect."""
        with self._at_once():
            self._connection.execute(
                "INSERT INTO raises VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (raise_id, self._today, limit.scope, limit.name, limit.amount, by),
            )
            self._connection.execute(
                "DELETE FROM told WHERE day = ? AND scope = ? AND name = ?",
                (self._today, limit.scope, limit.name),
            )

    # Quotas of logins

    def open_quota(self, quota: Quota, agent: str) -> bool:
        """Refuse a login's reservations until a time; return whether that was not known yet."""
        with self._at_once():
            is_new = self._quota(quota.login) is None
            self._connection.execute(
                """
                INSERT INTO quotas VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET
                until_ms = max(until_ms, excluded.until_ms), quota_window = excluded.quota_window
                """,
                (*quota, agent),
            )
            return is_new

    def _quota(self, login: str) -> Quota | None:
        row = self._connection.execute(
            "SELECT login, quota_window, until_ms FROM quotas WHERE login = ? AND until_ms > ?",
            (login, self._now_ms),
        ).fetchone()
        return None if row is None else Quota(*row)

    # Reports

    def budgets(self, agent: str) -> list[BudgetState]:
        """Return the budgets of an agent as they are today."""
        with _told(self._path):
            return [self._state(limit) for limit in self._limits_of(agent)]

    def spent_today(self, agent: str) -> Spent:
        """Return what an agent used today."""
        return self._sum(agent, "AND day = ?", self._today)

    def spent_in_total(self, agent: str) -> Spent:
        """Return what an agent used on all days."""
        return self._sum(agent, "")

    def report(self, by: By, since: str = "", agent: str = "") -> list[Share]:
        """Return what was used since a day, by all agents or by one."""
        with _told(self._path):
            return _report(self._connection, by, since, agent)

    def _sum(self, agent: str, which: str, *values: str) -> Spent:
        sums = ", ".join(
            f"coalesce(sum({name}), 0)"
            for name in ("turns", "input_tokens", "cached_tokens", "output_tokens", "cost")
        )
        query = f"SELECT {sums} FROM totals WHERE agent = ? {which}"
        with _told(self._path):
            turns, given, cached, written, cost = self._connection.execute(query, (agent, *values)).fetchone()
        return Spent(turns, given, cached, written, usd(cost))

    # Inside a transaction

    def _insert(self, hold: Hold, state: str, use: Use, turn: str, turns: int = 1, day: str = "") -> None:
        is_held = state == "held"
        self._connection.execute(
            _INSERT,
            {
                **hold.spender._asdict(),
                **use._asdict(),
                "id": hold.id,
                "kind": hold.kind,
                "state": state,
                "day": day or self._today,
                "task": hold.task,
                "turn": turn,
                "owner": hold.owner,
                "turns": turns,
                "held": hold.amount if is_held else 0,
                "cost": use.cost or 0,
                "now_ms": self._now_ms,
                "ended_ms": None if is_held else self._now_ms,
            },
        )

    def _state(self, limit: Limit, day: str = "") -> BudgetState:
        """Return what a budget has left on a day, or today."""
        column = "agent" if limit.scope == "agent" else "host"
        spent, held, raised = self._connection.execute(
            f"""
            SELECT coalesce(sum(cost), 0), coalesce(sum(held), 0), (
              SELECT coalesce(sum(amount), 0) FROM raises WHERE day = :day AND scope = :scope AND name = :name
            ) FROM totals WHERE day = :day AND {column} = :name
            """,
            {"day": day or self._today, "scope": limit.scope, "name": limit.name},
        ).fetchone()
        return BudgetState(limit.scope, limit.name, limit.amount + raised, spent, held)

    def _shortage(self, agent: str, amount: int, day: str = "") -> BudgetState | None:
        """Return the first budget that does not cover an amount. A budget of 0 covers nothing, not even 0."""
        states = (self._state(limit, day) for limit in self._limits_of(agent))
        return next(
            (each for each in states if each.limit <= 0 or each.spent + each.held + amount > each.limit), None
        )

    def _exhausted(self, shortage: BudgetState, amount: int) -> tuple[News, ...]:
        """Return news unless running turns alone are what the reservation has to wait for."""
        if shortage.limit > 0 and shortage.spent + amount <= shortage.limit:
            return ()
        return self._news(Told.EXHAUSTED, shortage)

    def _warnings(self, agent: str) -> tuple[News, ...]:
        states = (self._state(limit) for limit in self._limits_of(agent))
        due = (each for each in states if each.spent and each.spent >= self._warn_at * each.limit)
        return tuple(news for each in due for news in self._news(Told.WARNED, each))

    def _news(self, what: Told, budget: BudgetState) -> tuple[News, ...]:
        added = self._connection.execute(
            "INSERT INTO told VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (self._today, budget.scope, budget.name, what),
        )
        return (News(what, budget),) if added.rowcount else ()

    @property
    def _today(self) -> str:
        return local_day(self._wall_clock())

    @property
    def _now_ms(self) -> int:
        return int(self._wall_clock() * 1000)

    @contextlib.contextmanager
    def _at_once(self) -> Iterator[None]:
        with _told(self._path), self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            yield


def read_report(path: Path, by: By, since: str = "") -> list[Share]:
    """Return what was used since a day, from a file that is only read."""
    with _told(path), contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        return _report(connection, by, since)


def _report(connection: sqlite3.Connection, by: By, since: str, agent: str = "") -> list[Share]:
    if by not in get_args(By):
        # It comes from other processes, and becomes a part of the query.
        raise UsageError(f"'{by}' is not one of {', '.join(get_args(By))}")
    query = _REPORT.format(column=by, order="1" if by == "day" else "7 DESC, 1")
    return [Share(*row) for row in connection.execute(query, (since, agent, agent))]


def local_day(now_s: float) -> str:
    """Return the day that use is booked on: the local date, as `2026-11-18`."""
    return date.fromtimestamp(now_s).isoformat()


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise UnavailableError(f"cannot use '{path}': {error}") from None
